// Gradient-based label binning: which labels share a score, and what their common system looks like.
//
// Mapping costs O(K). Aggregating adds each row of the K x K sums to the accumulator of its label's bin
// (contiguous vector additions, K^2 / 2 in all) and then reduces the bins x K result; scattering single
// pairs of labels would be several times slower.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// The labels whose criterion has one sign, for an equal-width mapping (eq. 10 and 11).
struct SignRange {
    double low = 0.0, width = 1.0;
    std::int32_t bins = 0;
};

inline SignRange sign_range(const double* criterion, std::size_t padded, bool positive, const BinSettings& settings) {
    const double sign = positive ? 1.0 : -1.0;
    const Vec none = broadcast(__builtin_inf());
    Vec low = none, high = -none, members = {};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec x = load(criterion + c);
        const VecMask member = sign * x > Vec{};
        low = minimum(low, select(member, x, none));
        high = maximum(high, select(member, x, -none));
        members += select(member, broadcast(1.0), Vec{});
    }
    const auto count = static_cast<std::int32_t>(sum(members));
    if (count == 0) return {};
    SignRange range;
    range.bins = bins_for_sign(count, settings);
    range.low = smallest(low);
    const double high_end = -smallest(-high);
    const double size = -range.low > high_end ? -range.low : high_end;
    // All the same: everything lies at the start of an endless first bin.
    const bool equal = high_end - range.low <= kTie * size;
    range.width = equal ? __builtin_inf() : (high_end - range.low) / range.bins;
    return range;
}

// Numbers of bins without labels are dropped, so that those of others move up. Returns the number of bins.
inline std::int32_t drop_empty_bins(std::int32_t bins, std::size_t labels, std::int32_t* bin, std::int32_t* bin_size) {
    for (std::int32_t b = 0; b < bins; ++b) bin_size[b] = 0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) ++bin_size[bin[k]];
    }
    bool any_empty = false;
    for (std::int32_t b = 0; b < bins; ++b) any_empty = any_empty || bin_size[b] == 0;
    if (!any_empty) return bins;
    // `bin_size` turns from sizes by old number into new numbers, then back into sizes.
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

std::int32_t map_to_bins(const double* gradient, const double* hessian, std::size_t labels, double l2, double noise,
                         const BinSettings& settings, std::int32_t* bin, std::int32_t* bin_size, double* criterion) {
    typedef std::int32_t Numbers __attribute__((vector_size(32), aligned(4)));
    const std::size_t padded = padded_size(labels);
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec g = load(gradient + c);
        const Vec a = maximum(load(hessian + c), Vec{}) + l2;
        const VecMask usable = (absolute(g) > broadcast(noise)) & (a > broadcast(noise));
        store(criterion + c) = select(usable, -g / select(usable, a, broadcast(1.0)), Vec{});
    }
    const SignRange negative = sign_range(criterion, padded, false, settings);
    const SignRange positive = sign_range(criterion, padded, true, settings);
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec x = load(criterion + c);
        const VecMask below = x < Vec{};
        const Vec low = select(below, broadcast(negative.low), broadcast(positive.low));
        const Vec width = select(below, broadcast(negative.width), broadcast(positive.width));
        const Vec last = select(below, broadcast(negative.bins - 1.0), broadcast(positive.bins - 1.0));
        // The small summand puts a criterion on a boundary into the upper bin, whatever the rounding.
        const Vec position = minimum(round_down((x - low) / width + kTie), last);
        const Vec number = select(below, position, position + static_cast<double>(negative.bins));
        const Vec mapped = select(below | (x > Vec{}), number, broadcast(-1.0));
        *reinterpret_cast<Numbers*>(bin + c) = __builtin_convertvector(mapped, Numbers);
    }
    return drop_empty_bins(negative.bins + positive.bins, labels, bin, bin_size);
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

// One example per vector lane: for few bins, whose products are added up across the lanes.
inline void add_gram_of_few_bins(const double* const* rows, const double* weights, std::size_t count,
                                 const std::int32_t* order, const std::int32_t* first, std::size_t bins, double factor,
                                 double* scratch, double* hessian) {
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
            for (std::size_t q = b; q < bins; ++q) {
                hessian[b * padded_size(bins) + q] += sum(scaled * load(scratch + kLanes * q));
            }
        }
    }
}

// Eight examples at a time: their gradients are turned so that a label is a vector, added up over the bins, and turned back,
// so that an example is a row of bins.
inline void add_gram_of_many_bins(const double* const* rows, const double* weights, std::size_t count,
                                  std::size_t labels, const std::int32_t* order, const std::int32_t* first,
                                  std::size_t bins, double factor, double* scratch, double* hessian) {
    const std::size_t stride = padded_size(bins);
    double* const by_label = scratch;
    double* const by_bin = by_label + kLanes * padded_size(labels);
    double* const by_example = by_bin + kLanes * stride;
    for (std::size_t b = bins; b < stride; ++b) store(by_bin + kLanes * b) = Vec{};
    for (std::size_t start = 0; start < count; start += kLanes) {
        const std::size_t present = count - start < kLanes ? count - start : kLanes;
        for (std::size_t k = 0; k < labels; k += kLanes) {
            Vec block[kLanes];
            for (std::size_t m = 0; m < kLanes; ++m) block[m] = load(rows[start + (m < present ? m : 0)] + k);
            transpose(block);
            for (std::size_t i = 0; i < kLanes; ++i) store(by_label + kLanes * (k + i)) = block[i];
        }
        for (std::size_t b = 0; b < bins; ++b) {
            Vec total = {};
            for (std::int32_t t = first[b]; t < first[b + 1]; ++t) {
                total += load(by_label + kLanes * static_cast<std::size_t>(order[t]));
            }
            store(by_bin + kLanes * b) = total;
        }
        for (std::size_t b = 0; b < stride; b += kLanes) {
            Vec block[kLanes];
            for (std::size_t i = 0; i < kLanes; ++i) block[i] = load(by_bin + kLanes * (b + i));
            transpose(block);
            for (std::size_t m = 0; m < kLanes; ++m) store(by_example + m * stride + b) = block[m];
        }
        double weight[kLanes];
        for (std::size_t m = 0; m < kLanes; ++m) weight[m] = m < present ? factor * weights[start + m] : 0.0;
        for (std::size_t b = 0; b < bins; ++b) {
            double scaled[kLanes];
            for (std::size_t m = 0; m < kLanes; ++m) scaled[m] = weight[m] * by_example[m * stride + b];
            for (std::size_t q = b / kLanes * kLanes; q < stride; q += kLanes) {
                Vec total = load(hessian + b * stride + q);
                for (std::size_t m = 0; m < kLanes; ++m) total += scaled[m] * load(by_example + m * stride + q);
                store(hessian + b * stride + q) = total;
            }
        }
    }
}

// K + B^2 / 2 vector operations for eight examples.
void add_binned_gram(const double* const* rows, const double* weights, std::size_t count, std::size_t labels,
                     const std::int32_t* order, const std::int32_t* first, std::size_t bins, double factor,
                     double* scratch, double* hessian) {
    if (bins <= kFewBins) {
        add_gram_of_few_bins(rows, weights, count, order, first, bins, factor, scratch, hessian);
    } else {
        add_gram_of_many_bins(rows, weights, count, labels, order, first, bins, factor, scratch, hessian);
    }
}

}  // namespace
}  // namespace labelboost
