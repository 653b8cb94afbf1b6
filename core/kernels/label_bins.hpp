// Gradient-based label binning: which labels share a score, and what their common system looks like.
//
// Mapping costs O(K). Aggregating adds each row of the K x K sums to the accumulator of its label's bin
// (contiguous vector additions, K^2 / 2 in all) and then reduces the bins x K result; scattering single
// pairs of labels would be several times slower.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// Equal-width mapping (eq. 10 and 11) of the labels whose criterion has the given sign.
inline void map_sign(const double* criterion, std::size_t labels, double sign, const BinSettings& settings,
                     std::int32_t first_bin, std::int32_t* bin, std::int32_t* bins) {
    double low = 0.0, high = 0.0;
    std::int32_t count = 0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (!(sign * criterion[k] > 0.0)) continue;
        if (count == 0 || criterion[k] < low) low = criterion[k];
        if (count == 0 || criterion[k] > high) high = criterion[k];
        ++count;
    }
    *bins = count == 0 ? 0 : bins_for_sign(count, settings);
    const double size = -low > high ? -low : high;
    const bool equal = high - low <= kTie * size;
    const double width = equal ? 1.0 : (high - low) / *bins;
    for (std::size_t k = 0; k < labels; ++k) {
        if (!(sign * criterion[k] > 0.0)) continue;
        // The small summand puts a criterion on a boundary into the upper bin, whatever the rounding.
        const double position = equal ? 0.0 : __builtin_floor((criterion[k] - low) / width + kTie);
        bin[k] = first_bin + (position < *bins ? static_cast<std::int32_t>(position) : *bins - 1);
    }
}

std::int32_t map_to_bins(const double* gradient, const double* hessian, std::size_t labels, double l2, double noise,
                         const BinSettings& settings, std::int32_t* bin, std::int32_t* bin_size, double* criterion) {
    for (std::size_t k = 0; k < labels; ++k) {
        const double a = (hessian[k] > 0.0 ? hessian[k] : 0.0) + l2;
        const bool zero = !(__builtin_fabs(gradient[k]) > noise) || !(a > noise);
        criterion[k] = zero ? 0.0 : -gradient[k] / a;
        bin[k] = -1;
    }
    std::int32_t negative = 0, positive = 0;
    map_sign(criterion, labels, -1.0, settings, 0, bin, &negative);
    map_sign(criterion, labels, 1.0, settings, negative, bin, &positive);

    const std::int32_t bins = negative + positive;
    for (std::int32_t b = 0; b < bins; ++b) bin_size[b] = 0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) ++bin_size[bin[k]];
    }
    // Drop empty bins; `bin_size` turns from sizes by old number into new numbers, then back into sizes.
    std::int32_t used = 0;
    for (std::int32_t b = 0; b < bins; ++b) bin_size[b] = bin_size[b] > 0 ? used++ : -1;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) bin[k] = bin_size[bin[k]];
    }
    for (std::int32_t b = 0; b < used; ++b) bin_size[b] = 0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) ++bin_size[bin[k]];
    }
    return used;
}

void aggregate_joint(const double* sums, std::size_t labels, const std::int32_t* bin, std::size_t bins, bool exact,
                     double* scratch, double* hessian) {
    const JointLayout layout(labels);
    for (std::size_t c = 0; c < bins * layout.padded; c += kLanes) store(scratch + c) = Vec{};
    for (std::size_t i = 0; i < labels; ++i) {
        if (bin[i] < 0) continue;
        const std::size_t start = i / kLanes * kLanes;
        const double* row = sums + layout.row(i);
        double* target = scratch + static_cast<std::size_t>(bin[i]) * layout.padded + start;
        // Diagonal blocks hold both triangles: half of each makes every pair of labels count once.
        store(target) += 0.5 * load(row);
        for (std::size_t c = kLanes; c < layout.padded - start; c += kLanes) store(target + c) += load(row + c);
    }
    for (std::size_t c = 0; c < bins * bins; ++c) hessian[c] = 0.0;
    for (std::size_t b = 0; b < bins; ++b) {
        const double* total = scratch + b * layout.padded;
        for (std::size_t j = 0; j < labels; ++j) {
            if (bin[j] >= 0) hessian[b * bins + static_cast<std::size_t>(bin[j])] -= total[j];
        }
    }
    for (std::size_t b = 0; b < bins; ++b) {
        for (std::size_t q = 0; q < b; ++q) {
            const double both = hessian[b * bins + q] + hessian[q * bins + b];
            hessian[b * bins + q] = both;
            hessian[q * bins + b] = both;
        }
        hessian[b * bins + b] = exact ? 2.0 * hessian[b * bins + b] : 0.0;
    }
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] < 0) continue;
        double own = sums[layout.additive() + k];
        if (!exact) own -= sums[layout.diagonal(k)];
        hessian[static_cast<std::size_t>(bin[k]) * (bins + 1)] += own;
    }
}

// K + B^2 / 2 operations per example, one example per vector lane.
void add_binned_gram(const double* const* rows, const double* weights, std::size_t count, const std::int32_t* order,
                     const std::int32_t* first, std::size_t bins, double factor, double* scratch, double* hessian) {
    for (std::size_t start = 0; start < count; start += kLanes) {
        const double* row[kLanes];
        Vec weight = {};
        for (std::size_t m = 0; m < kLanes; ++m) {
            const bool present = start + m < count;
            row[m] = rows[present ? start + m : start];
            weight[m] = present ? factor * weights[start + m] : 0.0;
        }
        for (std::size_t b = 0; b < bins; ++b) {
            Vec total = {};
            for (std::int32_t t = first[b]; t < first[b + 1]; ++t) {
                const std::int32_t label = order[t];
                total += Vec{row[0][label], row[1][label], row[2][label], row[3][label],
                             row[4][label], row[5][label], row[6][label], row[7][label]};
            }
            store(scratch + kLanes * b) = total;
        }
        for (std::size_t b = 0; b < bins; ++b) {
            const Vec scaled = weight * load(scratch + kLanes * b);
            for (std::size_t q = b; q < bins; ++q) hessian[b * bins + q] += sum(scaled * load(scratch + kLanes * q));
        }
    }
}

}  // namespace
}  // namespace labelboost
