// Gradients and Hessians as rows of single precision that need only be added up: what the divisions of a node, or a rule's
// candidates by bins of a feature, are screened with.
//
// In joint form a row is a linear system without the L2 term, in the order of cholesky.hpp: for each label the upper
// triangle's row of the Hessian, then the negative gradient; K (K + 3) / 2 numbers. Rows of sixteen regions are transposed
// and solved side by side. In diagonal form it is the gradients, then the diagonal of the Hessian, both padded, but
// not for rules; in flat form the weight, then the gradients. For rules in joint form a row has the sums of wide_sums.hpp,
// and examples of the same value are added up one after the other.
// Cost: K^2 / 32 vector operations to add a row, K^3 / 6 for sixteen systems.
#pragma once

#include "wide_scores.hpp"

namespace labelboost {
namespace {

// The row of one example of the example-wise loss, from its gradient.
void pack_joint(const double* gradient, double weight, std::size_t labels, float* out) {
    for (std::size_t i = 0; i < labels; ++i) {
        const double scaled = weight * gradient[i];
        float* const row = out + lane_row(i, labels);
        for (std::size_t j = i; j < labels; ++j) row[j - i] = static_cast<float>(-scaled * gradient[j]);
        const double size = __builtin_fabs(gradient[i]);
        row[0] = static_cast<float>(weight * size * (1.0 - size));
        row[labels - i] = static_cast<float>(-scaled);
    }
}

// As with profiles, vectors reach into what is stored later, but not behind the last row.
void pack_diagonal(const PackTask& task, float* rows) {
    const std::size_t labels = task.labels, size = diagonal_row_size(labels);
    for (std::size_t m = 0; m < task.count; ++m) {
        const float* const gradient = task.gradient(m);
        const float weight = task.weight(m);
        float* const row = rows + m * size;
        task.prefetch_ahead(m);
        for (std::size_t c = 0; c < labels; c += kWide) store_anywhere(row + c, weight * load(gradient + c));
        for (std::size_t c = 0; c < labels; c += kWide) {
            const VecF g = absolute(load(gradient + c));
            store_section(row + labels, c, labels, weight * (g - g * g), m + 1 == task.count);
        }
    }
}

// Sixteen numbers of each row in joint form for rules, so that their factors stay in registers; there are at most kCount
// labels. kMixed: some of the numbers are not products.
template <std::size_t kCount, bool kMixed>
inline void pack_column(const PackTask& task, const RowFactors& factors, std::size_t column, std::size_t size, float* rows) {
    VecFMask first, second;
    __builtin_memcpy(&first, factors.first + column, sizeof(first));
    __builtin_memcpy(&second, factors.second + column, sizeof(second));
    const VecFMask alone = second < 0, sizes = second == RowFactors::kSize;
    float* target = rows + column;
    for (std::size_t m = 0; m < task.count; ++m, target += size) {
        const float* const gradient = task.gradient(m);
        const VecF scaled = task.weight(m) * pick<kCount>(gradient, first);
        if constexpr (kMixed) {
            const VecF product = scaled * select(alone, broadcast(1.0f), pick<kCount>(gradient, ~alone & second));
            store(target) = select(sizes, absolute(product), product);
        } else {
            store(target) = scaled * pick<kCount>(gradient, second);
        }
    }
}

template <std::size_t kCount>
inline void pack_sums_of(const PackTask& task, const RowFactors& factors, float* rows) {
    const std::size_t size = packed_sums_size(task.labels);
    for (std::size_t c = 0; c < size; c += kWide) {
        if (c < 2 * task.labels) {
            pack_column<kCount, true>(task, factors, c, size, rows);
        } else {
            pack_column<kCount, false>(task, factors, c, size, rows);
        }
    }
}

void pack_sums(const PackTask& task, const RowFactors& factors, float* rows) {
    if (task.labels <= kWide) {
        pack_sums_of<kWide>(task, factors, rows);
    } else {
        pack_sums_of<2 * kWide>(task, factors, rows);
    }
}

// Elements stay in registers while examples are added.
void add_sorted_sums(float* sums, const float* gradients, const float* weights, std::size_t count, std::size_t labels) {
    const SortedSums layout(labels);
    const std::size_t stride = layout.padded;
    for (std::size_t c = 0; c < labels; c += kWide) {
        VecF gradient = load(sums + layout.gradient() + c), additive = load(sums + layout.additive() + c);
        for (std::size_t m = 0; m < count; ++m) {
            const VecF g = weights[m] * load(gradients + m * stride + c);
            gradient += g;
            additive += absolute(g);
        }
        store(sums + layout.gradient() + c) = gradient;
        store(sums + layout.additive() + c) = additive;
    }
    for (std::size_t c = 0; c < labels; c += SortedSums::kColumns) {
        for (std::size_t r = c; r < labels; r += SortedSums::kRows) {
            float* const tile = sums + layout.row(c, r);
            VecF total[SortedSums::kRows];
            for (std::size_t i = 0; i < SortedSums::kRows; ++i) total[i] = load(tile + kWide * i);
            for (std::size_t m = 0; m < count; ++m) {
                const float* const g = gradients + m * stride;
                const VecF columns = weights[m] * load(g + c);
                for (std::size_t i = 0; i < SortedSums::kRows; ++i) total[i] += g[r + i] * columns;
            }
            for (std::size_t i = 0; i < SortedSums::kRows; ++i) store(tile + kWide * i) = total[i];
        }
    }
}

void add_floats(float* out, const float* a, const float* b, std::size_t size) {
    for (std::size_t c = 0; c < size; c += kWide) store(out + c) = load(a + c) + load(b + c);
}

// kVectors: of the part of a row that is added; 0 if there are many.
template <std::size_t kVectors, typename Number>
inline void add_numbered_rows(float* histogram, const std::int32_t* slots, const float* rows, std::size_t count,
                              std::size_t width, std::size_t size, std::size_t pitch, const Number& number) {
    const std::size_t end = kVectors > 0 ? kWide * kVectors : width;
    for (std::size_t i = 0; i < count; ++i) {
        float* const target = histogram + static_cast<std::size_t>(slots[i]) * pitch;
        const float* const row = rows + number(i) * size;
        for (std::size_t c = 0; c < end; c += kWide) store(target + c) += load(row + c);
    }
}

void add_rows(float* histogram, const std::int32_t* slots, const float* rows, const std::int32_t* numbers,
              std::size_t count, std::size_t width, std::size_t size, std::size_t pitch) {
    const auto in_order = [](std::size_t i) { return i; };
    if (numbers != nullptr) {
        add_numbered_rows<0>(histogram, slots, rows, count, width, size, pitch,
                             [=](std::size_t i) { return static_cast<std::size_t>(numbers[i]); });
        return;
    }
    switch (width / kWide) {
        case 1: return add_numbered_rows<1>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 2: return add_numbered_rows<2>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 3: return add_numbered_rows<3>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 4: return add_numbered_rows<4>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 5: return add_numbered_rows<5>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 6: return add_numbered_rows<6>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 7: return add_numbered_rows<7>(histogram, slots, rows, count, width, size, pitch, in_order);
        case 8: return add_numbered_rows<8>(histogram, slots, rows, count, width, size, pitch, in_order);
        default: return add_numbered_rows<0>(histogram, slots, rows, count, width, size, pitch, in_order);
    }
}

// rows: sixteen of them; system: room for as many numbers; -infinity: not decided.
void score_packed(const float* const* rows, std::size_t labels, float l2, float noise, float* system, float* quality) {
    const std::size_t size = labels * (labels + 3) / 2;
    for (std::size_t c = 0; c < size; c += kWide) {
        VecF block[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) block[lane] = load(rows[lane] + c);
        transpose(block);
        for (std::size_t e = 0; e < kWide; ++e) store(system + kWide * (c + e)) = block[e];
    }
    VecFMask doubt = {};
    for (std::size_t i = 0; i < labels; ++i) store(system + kWide * lane_row(i, labels)) += l2;
    const VecF found = factorise_lanes<float>(system, labels, noise, kLeastKept, &doubt);
    store(quality) = unless_in_doubt(found, doubt);
}

// The same for rules. Only what does not depend on examples is taken from the task.
void score_packed_sums(const float* const* rows, const ScreenTask& task, float* scratch, float* quality) {
    const WideJoint sums{task.labels, scratch};
    const std::size_t vectors = WideJoint::vectors(task.labels);
    for (std::size_t c = 0; c < vectors; c += kWide) {
        VecF block[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) block[lane] = load(rows[lane] + c);
        transpose(block);
        for (std::size_t e = 0; e < kWide && c + e < vectors; ++e) store(sums.values + kWide * (c + e)) = block[e];
    }
    float* const room = sums.values + kWide * vectors;
    VecFMask doubt = {};
    const VecF found = task.bins_for == nullptr ? score_wide_exact(sums, task, room, doubt)
                                                : score_wide_binned(sums, WideRegion{VecF{}, VecFMask{}}, task, room, doubt);
    store(quality) = unless_in_doubt(found, doubt);
}

// The same in flat form.
void score_packed_flat(const float* const* rows, std::size_t labels, float l2, float noise, float* quality) {
    for (std::size_t lane = 0; lane < kWide; ++lane) {
        const float weight = rows[lane][0];
        VecF first = load(rows[lane]);
        set(first, 0, 0.0f);
        VecF total = first * first;
        for (std::size_t c = kWide; c < labels + 1; c += kWide) {
            const VecF g = load(rows[lane] + c);
            total += g * g;
        }
        float squares = 0.0f;
        for (std::size_t e = 0; e < kWide; ++e) squares += total[e];
        const float curvature = (weight > 0.0f ? weight : 0.0f) + l2;
        quality[lane] = curvature > noise ? -0.5f * squares / curvature : 0.0f;
    }
    store(quality) = unless_in_doubt(load(quality), VecFMask{});
}

// The same in diagonal form.
void score_packed_diagonal(const float* const* rows, std::size_t labels, std::size_t hessian, float l2, float noise,
                           bool single, float* quality) {
    VecF total = {}, best = {};
    for (std::size_t c = 0; c < labels; c += kWide) {
        VecF gradients[kWide], hessians[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            gradients[lane] = load(rows[lane] + c);
            hessians[lane] = load_anywhere(rows[lane] + hessian + c);
        }
        transpose(gradients);
        transpose(hessians);
        for (std::size_t e = 0; e < kWide && c + e < labels; ++e) {
            const VecF a = maximum(hessians[e], VecF{}) + l2;
            const VecFMask usable = a > broadcast(noise);
            const VecF gain = select(usable, gradients[e] * gradients[e] / select(usable, a, broadcast(1.0f)), VecF{});
            total += gain;
            best = maximum(best, gain);
        }
    }
    store(quality) = unless_in_doubt(-0.5f * (single ? best : total), VecFMask{});
}

}  // namespace
}  // namespace labelboost
