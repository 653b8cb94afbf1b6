// Gradients and Hessians as rows of single precision that need only be added up: what the divisions of a node, or a rule's
// candidates by bins of a feature, are screened with.
//
// In joint form a row is a linear system without the L2 term, in the order of cholesky.hpp: for each label the upper
// triangle's row of the Hessian, then the negative gradient; K (K + 3) / 2 numbers. Rows of sixteen regions are transposed
// and solved side by side. In diagonal form it is the gradients, then the diagonal of the Hessian, both padded; in flat
// form the weight, then the gradients. For rules in joint form a row has the sums of wide_sums.hpp.
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

// The rows for rules; there are at most kCount labels.
template <std::size_t kCount>
inline void pack_sums_of(const PackTask& task, const RowFactors& factors) {
    const std::size_t tiles = packed_sums_size(task.labels) / kWide;
    for (std::size_t t = 0; t < tiles; ++t) {
        VecFMask first, second;
        __builtin_memcpy(&first, factors.first + kWide * t, sizeof(first));
        __builtin_memcpy(&second, factors.second + kWide * t, sizeof(second));
        const VecFMask alone = second < 0, sizes = second == RowFactors::kSize;
        float* target = task.target(t);
        if (!any(alone)) {
            for (std::size_t m = 0; m < task.count; ++m, target += kWide) {
                const float* const g = task.gradients[m];
                store(target) = task.weights[m] * pick<kCount>(g, first) * pick<kCount>(g, second);
            }
            continue;
        }
        const VecFMask other = ~alone & second;
        for (std::size_t m = 0; m < task.count; ++m, target += kWide) {
            const float* const g = task.gradients[m];
            const VecF scaled = task.weights[m] * pick<kCount>(g, first);
            const VecF product = scaled * select(alone, broadcast(1.0f), pick<kCount>(g, other));
            store(target) = select(sizes, absolute(product), product);
        }
    }
}

void pack_sums(const PackTask& task, const RowFactors& factors) {
    if (task.labels <= kWide) {
        pack_sums_of<kWide>(task, factors);
    } else {
        pack_sums_of<2 * kWide>(task, factors);
    }
}

void add_from_tiles(float* out, const float* other, const float* tiled, const Tiles& tiles, std::size_t rows,
                    std::size_t i) {
    if (tiles.in_one_piece) {
        const float* const row = tiled + i * tiles.size;
        for (std::size_t c = 0; c < tiles.size; c += kWide) store(out + c) = load(other + c) + load(row + c);
        return;
    }
    for (std::size_t t = 0; t < tiles.count(); ++t, out += tiles.width, other += tiles.width) {
        const float* const row = tiled + tiles.begin(t, rows) + i * tiles.pitch(t);
        for (std::size_t c = 0; c < tiles.width_of(t); c += kWide) store(out + c) = load(other + c) + load(row + c);
    }
}

template <typename Number>
void add_numbered_rows(float* tile, const std::int32_t* slots, const float* rows, std::size_t count, std::size_t width,
                       std::size_t pitch, const Number& number) {
    if (width == kWide && pitch == kWide) {
        for (std::size_t i = 0; i < count; ++i) {
            store(tile + static_cast<std::size_t>(slots[i]) * kWide) += load(rows + number(i) * kWide);
        }
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        float* const target = tile + static_cast<std::size_t>(slots[i]) * pitch;
        const float* const row = rows + number(i) * pitch;
        for (std::size_t c = 0; c < width; c += kWide) store(target + c) += load(row + c);
    }
}

// Row i, or row numbers[i], is added to row slots[i].
void add_rows(float* tile, const std::int32_t* slots, const float* rows, const std::int32_t* numbers, std::size_t count,
              std::size_t width, std::size_t pitch) {
    if (numbers == nullptr) {
        add_numbered_rows(tile, slots, rows, count, width, pitch, [](std::size_t i) { return i; });
    } else {
        add_numbered_rows(tile, slots, rows, count, width, pitch,
                          [=](std::size_t i) { return static_cast<std::size_t>(numbers[i]); });
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
        first[0] = 0.0f;
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

// The same in diagonal form; padded: of the labels.
void score_packed_diagonal(const float* const* rows, std::size_t labels, std::size_t padded, float l2, float noise,
                           float* quality) {
    VecF total = {};
    for (std::size_t c = 0; c < labels; c += kWide) {
        VecF gradients[kWide], hessians[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            gradients[lane] = load(rows[lane] + c);
            hessians[lane] = load(rows[lane] + padded + c);
        }
        transpose(gradients);
        transpose(hessians);
        for (std::size_t e = 0; e < kWide && c + e < labels; ++e) {
            const VecF a = maximum(hessians[e], VecF{}) + l2;
            const VecFMask usable = a > broadcast(noise);
            total += select(usable, gradients[e] * gradients[e] / select(usable, a, broadcast(1.0f)), VecF{});
        }
    }
    store(quality) = unless_in_doubt(-0.5f * total, VecFMask{});
}

}  // namespace
}  // namespace labelboost
