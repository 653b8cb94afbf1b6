// Regions of short lists of examples, from rows of single precision (see packed.hpp): their sums, and their qualities,
// sixteen at a time.
//
// Cost in vector operations, for rows of R numbers: R / 16 per example, R / 8 per split, and for sixteen regions 4 R to turn
// their rows and what wide_scores.hpp says. A bound takes 3 R; with it, three of four regions need no quality.
#pragma once

#include "screen.hpp"

namespace labelboost {
namespace {

// For kCount vectors of each row.
template <std::size_t kCount>
inline void add_up_splits_of(const NumberedRows& rows, std::size_t column, const std::int32_t* examples,
                             const SplitStep* steps, std::size_t count, const float* total, float* out) {
    const std::size_t size = rows.size;
    const float* const first = rows.values + column;
    float* target = out + column;
    VecF part[kCount] = {};
    for (std::size_t s = 0; s < count; ++s, target += 2 * size) {
        if (steps[s].starts_anew) {
            for (VecF& sums : part) sums = VecF{};
        }
        for (std::uint32_t i = steps[s].begin; i < steps[s].end; ++i) {
            const float* const row = first + size * static_cast<std::size_t>(rows.number[examples[i]]);
            for (std::size_t t = 0; t < kCount; ++t) part[t] += load(row + kWide * t);
        }
        for (std::size_t t = 0; t < kCount; ++t) {
            store(target + kWide * t) = part[t];
            store(target + size + kWide * t) = load(total + column + kWide * t) - part[t];
        }
    }
}

// A few vectors at a time, so that the sums stay in registers. The rest is what a part leaves of the total.
void add_up_splits(const NumberedRows& rows, const std::int32_t* examples, const SplitStep* steps, std::size_t count,
                   const float* total, float* out) {
    constexpr std::size_t kTogether = 3;
    std::size_t c = 0;
    for (; c + kTogether * kWide <= rows.size; c += kTogether * kWide) {
        add_up_splits_of<kTogether>(rows, c, examples, steps, count, total, out);
    }
    for (; c < rows.size; c += kWide) add_up_splits_of<1>(rows, c, examples, steps, count, total, out);
}

// Whether a region that is a difference is too small a part of the total, or a sign in it may be rounding.
inline VecFMask lost_by_subtraction(const WideJoint& sums, const float* total) {
    constexpr float kLeastPart = 1.0f / 16.0f, kRounding = 1e-5f;
    VecFMask lost = {};
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const VecF all = broadcast(total[sums.labels + k]);
        lost |= (load(sums.additive(k)) < kLeastPart * all) | (absolute(load(sums.gradient(k))) < kRounding * all);
    }
    return lost;
}

// Twice the margin that decides in the end, as what is reached is approximate itself.
inline unsigned as_good_as(VecF quality, float reached) {
    constexpr float kMargin = 2e-3f;
    return negative_bits(~(quality > broadcast((1.0f - kMargin) * reached)));
}

// The sixteen regions whose quality may be as good as what is reached. With a_i = H_ii + l2 - sum_j |H_ij|, a system is at least
// diag(a), with or without label bins: a gain is at most sum_i g_i^2 / a_i / 2. Rounding is provided for.
unsigned promising_regions(const float* const* rows, const float* total, const ScreenTask& task, float* scratch,
                           float reached) {
    constexpr float kRounding = 1e-5f;
    const std::size_t n = task.labels;
    const WideJoint sums{n, scratch};
    gather_rows(rows, WideJoint::vectors(n), sums.values);
    float* const others = scratch + kWide * WideJoint::vectors(n);  // of each label, the sum of |H_ij|
    for (std::size_t i = 0; i < n; ++i) store(others + kWide * i) = VecF{};
    VecF squares = {};
    const float* element = sums.gram(0, 0);
    for (std::size_t i = 0; i < n; ++i) {
        const VecF own = load(element);
        element += kWide;
        VecF off_diagonal = load(others + kWide * i);
        for (std::size_t j = i + 1; j < n; ++j, element += kWide) {
            const VecF size = absolute(load(element));
            off_diagonal += size;
            store(others + kWide * j) += size;
        }
        const float error = kRounding * total[n + i];
        const VecF g = absolute(load(sums.gradient(i))) + error;
        const VecF a = load(sums.additive(i)) - own - off_diagonal + (static_cast<float>(task.l2) - 2.0f * error);
        squares += g * g / maximum(a, VecF{});
    }
    return as_good_as(-0.5f * squares, reached);
}

unsigned score_regions(const float* const* rows, const std::int32_t* subtracted, const float* total, const ScreenTask& task,
                       bool by_sign, float* scratch, float* quality, float& reached) {
    const WideSigned sums{{task.labels, scratch}};
    gather_rows(rows, WideJoint::vectors(task.labels), sums.values);
    float* const room = sums.values + kWide * WideSigned::vectors(task.labels);
    VecFMask doubt;
    __builtin_memcpy(&doubt, subtracted, sizeof(doubt));
    doubt &= lost_by_subtraction(sums, total);
    const WideRegion region{VecF{}, VecFMask{}};
    VecF found;
    if (by_sign) {
        sums.start();
        found = score_wide_signed(sums, region, sums.signed_pairs(room), task, doubt);
    } else if (task.bins_for != nullptr) {
        found = score_wide_binned(sums, region, task, room, doubt);
    } else {
        found = score_wide_exact(sums, task, room, doubt);
    }
    const VecF decided = unless_in_doubt(found, doubt);
    store(quality) = decided;
    const VecF none = VecF{};  // gains are not negative
    reached = std::min(reached, smallest(select(decided > broadcast(-__builtin_inff()), decided, none)));
    return as_good_as(decided, reached);
}

}  // namespace
}  // namespace labelboost
