// Rows that are added to histograms over the ranks of several features, and the rows of label-wise training.
//
// What an addition waits for is the second-level cache, in which the histograms lie: every row of theirs is fetched and
// written back. Cost: two or three cycles per cache line of a row and feature.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// A row stays in registers while it is added to the histograms of all features, whose rows for a later example are asked for
// meanwhile. kVectors: of the part; 0 if there are many.
template <std::size_t kVectors>
inline void add_ranked_rows_of(const float* rows, std::size_t count, std::size_t width, std::size_t size,
                               const RankTargets& targets, std::size_t ahead) {
    constexpr std::size_t kNext = 4;
    const std::int32_t* const examples = targets.source.examples;
    const std::size_t features = targets.features;
    const auto pitch = static_cast<std::ptrdiff_t>(targets.pitch);
    for (std::size_t m = 0; m < count; ++m) {
        const float* const row = rows + m * size;
        const std::ptrdiff_t example = examples[m], next = examples[m + kNext < count ? m + kNext : m];
        VecF numbers[kVectors > 0 ? kVectors : 1];
        for (std::size_t v = 0; v < kVectors; ++v) numbers[v] = load(row + kWide * v);
        targets.source.prefetch_ahead(m);
        for (std::size_t f = 0; f < features; ++f) {
            const std::int32_t* const ranks = targets.ranks[f];
            const auto histogram_row = [&](std::ptrdiff_t n) {
                return targets.histograms[f] + (ranks[n] >> targets.shifts[f]) * pitch;
            };
            __builtin_prefetch(ranks + example + ahead);
            for (std::size_t v = 0; v < kVectors; ++v) __builtin_prefetch(histogram_row(next) + kWide * v, 1);
            float* const target = histogram_row(example);
            for (std::size_t v = 0; v < kVectors; ++v) store(target + kWide * v) += numbers[v];
            for (std::size_t c = 0; kVectors == 0 && c < width; c += kWide) store(target + c) += load(row + c);
        }
    }
}

void add_ranked_rows(const float* rows, std::size_t count, std::size_t width, std::size_t size,
                     const RankTargets& targets, std::size_t ahead) {
    switch (width / kWide) {
        case 1: return add_ranked_rows_of<1>(rows, count, width, size, targets, ahead);
        case 2: return add_ranked_rows_of<2>(rows, count, width, size, targets, ahead);
        case 3: return add_ranked_rows_of<3>(rows, count, width, size, targets, ahead);
        case 4: return add_ranked_rows_of<4>(rows, count, width, size, targets, ahead);
        default: return add_ranked_rows_of<0>(rows, count, width, size, targets, ahead);
    }
}

// The gradients of an example, positive and negative ones apart, the diagonal of its Hessian, and a 1 that counts it.
// Sections follow each other without padding, so vectors reach into what is stored later, but not behind the last row.
void pack_signed(const PackTask& task, float* rows) {
    const std::size_t labels = task.labels, size = signed_row_size(labels);
    for (std::size_t m = 0; m < task.count; ++m) {
        const float* const gradient = task.gradient(m);
        const float weight = task.weight(m);
        float* const row = rows + m * size;
        for (std::size_t c = 0; c < labels; c += kWide) {
            store_anywhere(row + c, maximum(weight * load(gradient + c), VecF{}));
        }
        for (std::size_t c = 0; c < labels; c += kWide) {
            store_anywhere(row + labels + c, maximum(-weight * load(gradient + c), VecF{}));
        }
        for (std::size_t c = 0; c < labels; c += kWide) {
            const VecF g = absolute(load(gradient + c));
            store_section(row + 2 * labels, c, labels, weight * (g - g * g), m + 1 == task.count);
        }
        row[3 * labels] = 1.0f;
    }
}

}  // namespace
}  // namespace labelboost
