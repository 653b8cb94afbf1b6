// Gradient-based label binning: which labels share a score, and what their common system looks like.
//
// Mapping costs O(K). Aggregating adds each row of the K x K sums to the accumulator of its label's bin
// (contiguous vector additions, K^2 / 2 in all, four rows at a time) and then adds up the bins x K result along its rows,
// eight bins at a time; scattering single pairs of labels, or single labels, would be several times slower.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// The labels whose criterion has one sign, for an equal-width mapping (eq. 10 and 11).
struct SignRange {
    double low = 0.0, width = 1.0;
    std::int32_t bins = 0;

    SignRange(Vec lowest, Vec highest, std::int32_t count) : bins(count) {
        if (count == 0) return;
        low = smallest(lowest);
        const double high = -smallest(-highest);
        const double size = -low > high ? -low : high;
        // All the same: everything lies at the start of an endless first bin.
        const bool equal = high - low <= kTie * size;
        width = equal ? __builtin_inf() : (high - low) / count;
    }
};

// Numbers of bins without labels are dropped, so that those of others move up. Returns the number of bins. scratch: a number
// per bin.
inline std::int32_t drop_empty_bins(std::int32_t bins, std::size_t labels, std::int32_t* bin, std::int32_t* bin_size,
                                    double* scratch) {
    for (std::int32_t b = 0; b < bins; ++b) bin_size[b] = 0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) ++bin_size[bin[k]];
    }
    double* const moved_to = scratch;
    std::int32_t used = 0;
    for (std::int32_t b = 0; b < bins; ++b) {
        const std::int32_t size = bin_size[b];
        moved_to[b] = used;
        bin_size[used] = size;
        used += size > 0 ? 1 : 0;
    }
    if (used == bins) return bins;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] >= 0) bin[k] = static_cast<std::int32_t>(moved_to[bin[k]]);
    }
    return used;
}

std::int32_t map_to_bins(const double* gradient, const double* hessian, std::size_t labels, double l2, double noise,
                         const BinSettings& settings, std::int32_t* bin, std::int32_t* bin_size, double* criterion) {
    const std::size_t padded = padded_size(labels);
    const auto store_numbers = [&](std::size_t c, const Vec& numbers) { store_integers(bin + c, numbers); };
    const Vec one = broadcast(1.0);
    Vec negatives = {}, positives = {};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec g = load(gradient + c);
        const Vec a = maximum(load(hessian + c), Vec{}) + l2;
        const VecMask usable = (absolute(g) > broadcast(noise)) & (a > broadcast(noise));
        const Vec direction = select(usable, -g, Vec{});
        store(criterion + c) = direction;
        negatives += select(direction < Vec{}, one, Vec{});
        positives += select(direction > Vec{}, one, Vec{});
    }
    const auto negative_labels = static_cast<std::int32_t>(sum(negatives));
    const auto positive_labels = static_cast<std::int32_t>(sum(positives));
    const std::int32_t negative_bins = negative_labels > 0 ? bins_for_sign(negative_labels, settings) : 0;
    const std::int32_t positive_bins = positive_labels > 0 ? bins_for_sign(positive_labels, settings) : 0;
    if (negative_bins <= 1 && positive_bins <= 1) {  // signs alone decide
        for (std::size_t c = 0; c < padded; c += kLanes) {
            const Vec x = load(criterion + c);
            const Vec above = select(x > Vec{}, broadcast(1.0 * negative_bins), broadcast(-1.0));
            store_numbers(c, select(x < Vec{}, Vec{}, above));
        }
        if (negative_bins > 0) bin_size[0] = negative_labels;
        if (positive_bins > 0) bin_size[negative_bins] = positive_labels;
        return negative_bins + positive_bins;
    }
    const Vec none = broadcast(__builtin_inf());
    Vec lowest[2] = {none, none}, highest[2] = {-none, -none};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec direction = load(criterion + c);
        const VecMask usable = direction != Vec{};
        const Vec a = maximum(load(hessian + c), Vec{}) + l2;
        const Vec x = select(usable, direction / select(usable, a, one), Vec{});
        store(criterion + c) = x;
        const VecMask below = x < Vec{}, above = x > Vec{};
        lowest[0] = minimum(lowest[0], x);  // a zero is never the lowest of the negative ones
        highest[0] = maximum(highest[0], select(below, x, -none));
        lowest[1] = minimum(lowest[1], select(above, x, none));
        highest[1] = maximum(highest[1], x);
    }
    const SignRange negative(lowest[0], highest[0], negative_bins);
    const SignRange positive(lowest[1], highest[1], positive_bins);
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
        store_numbers(c, mapped);
    }
    return drop_empty_bins(negative.bins + positive.bins, labels, bin, bin_size, criterion);
}

// A row of the Gram matrix of a region, or of what the region has in addition to a part of it.
template <bool kWithoutPart>
struct GramRow {
    std::size_t start;  // columns from this one on are stored
    const double* whole;
    const double* part;

    GramRow(const double* all, const double* some, const JointLayout& layout, std::int32_t label)
        : start(static_cast<std::size_t>(label) / kLanes * kLanes),
          whole(all + layout.row(static_cast<std::size_t>(label)) - start),
          part(kWithoutPart ? some + layout.row(static_cast<std::size_t>(label)) - start : nullptr) {}

    Vec at(std::size_t column) const {
        return kWithoutPart ? load(whole + column) - load(part + column) : load(whole + column);
    }
};

// total += the rows of some labels of a bin, from the last label to the first: where all of them have columns, the total
// is loaded and stored but once. Diagonal blocks hold both triangles: half of each makes every pair of labels count once.
template <std::size_t kCount, typename Row>
inline void add_gram_rows(const Row (&rows)[kCount], std::size_t padded, double* total) {
    for (const Row& row : rows) {
        store(total + row.start) += 0.5 * row.at(row.start);
        for (std::size_t c = row.start + kLanes; c <= rows[0].start; c += kLanes) store(total + c) += row.at(c);
    }
    for (std::size_t c = rows[0].start + kLanes; c < padded; c += kLanes) {
        Vec own = load(total + c);
        for (const Row& row : rows) own += row.at(c);
        store(total + c) = own;
    }
}

// by_bin (bins x labels): the rows of the labels of each bin, added up.
template <bool kWithoutPart>
inline void add_rows_of_bins(const double* whole, const double* part, const JointLayout& layout,
                             const std::int32_t* order, const std::int32_t* first, std::size_t bins, double* by_bin) {
    using Row = GramRow<kWithoutPart>;
    const auto row = [&](std::int32_t t) { return Row(whole, part, layout, order[t]); };
    for (std::size_t b = 0; b < bins; ++b) {
        double* const total = by_bin + b * layout.padded;
        std::int32_t t = first[b];
        for (; t + 4 <= first[b + 1]; t += 4) {
            const Row rows[4] = {row(t), row(t + 1), row(t + 2), row(t + 3)};
            add_gram_rows(rows, layout.padded, total);
        }
        for (; t < first[b + 1]; ++t) {
            const Row rows[1] = {row(t)};
            add_gram_rows(rows, layout.padded, total);
        }
    }
}

// The same along the rows, for eight bins at a time: these are turned so that a label is a vector.
void aggregate_gram(const double* whole, const double* part, std::size_t labels, const std::int32_t* order,
                    const std::int32_t* first, std::size_t bins, bool exact, double* scratch, double* hessian) {
    const JointLayout layout(labels);
    const std::size_t stride = padded_size(bins);
    double* const by_bin = scratch;
    double* const by_label = by_bin + stride * layout.padded;
    double* const both = by_label + kLanes * layout.padded;  // bins x stride: each pair of bins in two places
    for (std::size_t c = 0; c < stride * layout.padded; c += kLanes) store(by_bin + c) = Vec{};
    if (part != nullptr) {
        add_rows_of_bins<true>(whole, part, layout, order, first, bins, by_bin);
    } else {
        add_rows_of_bins<false>(whole, part, layout, order, first, bins, by_bin);
    }
    for (std::size_t b = 0; b < stride; b += kLanes) {
        for (std::size_t k = 0; k < layout.padded; k += kLanes) {
            Vec block[kLanes];
            for (std::size_t i = 0; i < kLanes; ++i) block[i] = load(by_bin + (b + i) * layout.padded + k);
            transpose(block);
            for (std::size_t i = 0; i < kLanes; ++i) store(by_label + kLanes * (k + i)) = block[i];
        }
        for (std::size_t q = 0; q < bins; ++q) {
            Vec even = {}, odd = {};  // two chains of additions, as one would wait for itself
            std::int32_t t = first[q];
            for (; t + 2 <= first[q + 1]; t += 2) {
                even += load(by_label + kLanes * static_cast<std::size_t>(order[t]));
                odd += load(by_label + kLanes * static_cast<std::size_t>(order[t + 1]));
            }
            if (t < first[q + 1]) even += load(by_label + kLanes * static_cast<std::size_t>(order[t]));
            store(both + q * stride + b) = even + odd;
        }
    }
    for (std::size_t b = 0; b < bins; ++b) {
        hessian[b * (bins + 1)] = exact ? -2.0 * both[b * (stride + 1)] : 0.0;
        for (std::size_t q = b + 1; q < bins; ++q) hessian[b * bins + q] = -(both[b * stride + q] + both[q * stride + b]);
    }
}

// One example per vector lane: for few bins, whose products are added up across the lanes.
inline void add_gram_of_few_bins(const double* const* rows, const double* weights, std::size_t count,
                                 const std::int32_t* order, const std::int32_t* first, std::size_t bins, double factor,
                                 double* scratch, double* hessian) {
    for (std::size_t start = 0; start < count; start += kLanes) {
        const double* row[kLanes];
        for (std::size_t m = 0; m < kLanes; ++m) row[m] = rows[start + m < count ? start + m : start];
        const Vec weight =
            from_lanes<double>([&](std::size_t m) { return start + m < count ? factor * weights[start + m] : 0.0; });
        for (std::size_t b = 0; b < bins; ++b) {
            Vec total = {};
            for (std::int32_t t = first[b]; t < first[b + 1]; ++t) {
                const std::int32_t label = order[t];
                total += from_lanes<double>([&](std::size_t m) { return row[m][label]; });
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

// Up to eight examples, one per vector lane: by_bin receives their gradients, added up over the bins. They are turned first,
// so that a label is a vector.
inline void sum_rows_over_bins(const double* const* rows, std::size_t present, std::size_t labels,
                               const std::int32_t* order, const std::int32_t* first, std::size_t bins, double* by_label,
                               double* by_bin) {
    for (std::size_t k = 0; k < labels; k += kLanes) {
        Vec block[kLanes];
        for (std::size_t m = 0; m < kLanes; ++m) block[m] = load(rows[m < present ? m : 0] + k);
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
}

// The same for few bins, whose labels are picked out of each example instead.
template <std::size_t kCount>
inline void sum_rows_over_few_bins(const double* const* rows, std::size_t present, std::size_t labels,
                                   const double* numbers, std::size_t bins, double* by_bin) {
    for (std::size_t b = 0; b < bins; ++b) {
        Vec totals[kLanes] = {};
        for (std::size_t c = 0; c < labels; c += kLanes) {
            const VecMask own = load(numbers + c) == broadcast(static_cast<double>(b));
            for (std::size_t m = 0; m < kCount; ++m) totals[m] += select(own, load(rows[m < present ? m : 0] + c), Vec{});
        }
        transpose(totals);
        store(by_bin + kLanes * b) = ((totals[0] + totals[1]) + (totals[2] + totals[3])) +
                                     ((totals[4] + totals[5]) + (totals[6] + totals[7]));
    }
}

// Eight examples at a time: what was added up over the bins is turned back, so that an example is a row of bins.
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
        sum_rows_over_bins(rows + start, present, labels, order, first, bins, by_label, by_bin);
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

// K + 3 B vector operations for eight examples, and what it takes to turn their gradients.
void add_binned_products(const double* const* rows, const double* weights, std::size_t count, std::size_t labels,
                         const double* numbers, const std::int32_t* order, const std::int32_t* first, std::size_t bins,
                         bool exact, const double* head, double factor, double* scratch, double* products) {
    double* const by_bin = scratch;
    double* const by_label = by_bin + kLanes * bins;
    for (std::size_t start = 0; start < count; start += kLanes) {
        const std::size_t present = count - start < kLanes ? count - start : kLanes;
        if (bins > kFewBins) {
            sum_rows_over_bins(rows + start, present, labels, order, first, bins, by_label, by_bin);
        } else if (present > kLanes / 2) {
            sum_rows_over_few_bins<kLanes>(rows + start, present, labels, numbers, bins, by_bin);
        } else {
            sum_rows_over_few_bins<kLanes / 2>(rows + start, present, labels, numbers, bins, by_bin);
        }
        const Vec weight =
            from_lanes<double>([&](std::size_t m) { return m < present ? factor * weights[start + m] : 0.0; });
        Vec along = {};
        for (std::size_t b = 0; b < bins; ++b) along += head[b] * load(by_bin + kLanes * b);
        for (std::size_t b = 0; b < bins; ++b) {
            const Vec g = load(by_bin + kLanes * b);
            store(products + kLanes * b) += weight * g * (exact ? along : along - head[b] * g);
        }
    }
}

// One load and one multiply-add per element of the upper triangle; those of the diagonal blocks are there twice.
template <bool kWithoutPart>
inline double pair_sum_of_rows(const double* whole, const double* part, const JointLayout& layout, const double* numbers,
                               double* scratch) {
    constexpr std::size_t kRows = 4;
    double* const first = scratch;
    double* const second = first + layout.padded;
    double* const neither = second + layout.padded;
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        store(first + c) = select(load(numbers + c) == Vec{}, broadcast(1.0), Vec{});
        store(second + c) = select(load(numbers + c) == broadcast(1.0), broadcast(1.0), Vec{});
        store(neither + c) = Vec{};
    }
    Vec inner[kRows] = {}, outer[kRows] = {};
    for (std::size_t i = 0; i < layout.padded; i += kRows) {
        for (std::size_t r = 0; r < kRows; ++r) {
            const GramRow<kWithoutPart> row(whole, part, layout, static_cast<std::int32_t>(i + r));
            const double* const others = numbers[i + r] == 0.0 ? second : numbers[i + r] == 1.0 ? first : neither;
            inner[r] += row.at(row.start) * load(others + row.start);
            for (std::size_t c = row.start + kLanes; c < layout.padded; c += kLanes) {
                outer[r] += row.at(c) * load(others + c);
            }
        }
    }
    return sum(0.5 * ((inner[0] + inner[1]) + (inner[2] + inner[3])) + ((outer[0] + outer[1]) + (outer[2] + outer[3])));
}

double sum_of_pairs(const double* whole, const double* part, std::size_t labels, const double* numbers, double* scratch) {
    const JointLayout layout(labels);
    return part != nullptr ? pair_sum_of_rows<true>(whole, part, layout, numbers, scratch)
                           : pair_sum_of_rows<false>(whole, part, layout, numbers, scratch);
}

// Sums of several vectors over the labels. Few bins are picked out; otherwise one label after the other is added to its bin.
void sum_over_bins(const double* const* values, std::size_t count, std::size_t labels, const std::int32_t* bin,
                   const double* numbers, std::size_t bins, double* sums) {
    if (bins <= kFewBins) {
        for (std::size_t b = 0; b < bins; ++b) {
            for (std::size_t a = 0; a < count; ++a) {
                Vec total = {};
                for (std::size_t c = 0; c < labels; c += kLanes) {
                    total += select(load(numbers + c) == broadcast(static_cast<double>(b)), load(values[a] + c), Vec{});
                }
                sums[a * bins + b] = sum(total);
            }
        }
        return;
    }
    for (std::size_t i = 0; i < count * bins; ++i) sums[i] = 0.0;
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] < 0) continue;
        for (std::size_t a = 0; a < count; ++a) sums[a * bins + static_cast<std::size_t>(bin[k])] += values[a][k];
    }
}

// Four rows at a time. Each element of the upper triangle counts for its row and for its column, but those of the diagonal
// blocks, which hold both triangles. K^2 / 2 elements are loaded, for two multiply-adds each.
void multiply_gram(const double* sums, std::size_t labels, const double* numbers, bool exact, const double* head,
                   double* product) {
    constexpr std::size_t kRows = 4;
    const JointLayout layout(labels);
    for (std::size_t c = 0; c < layout.padded; c += kLanes) store(product + c) = Vec{};
    for (std::size_t i = 0; i < layout.padded; i += kRows) {
        const std::size_t diagonal = i / kLanes * kLanes;
        const double* const rows = sums + layout.row(i) - diagonal;
        const std::size_t width = layout.block_width(i / kLanes);
        Vec own[kRows], scores[kRows], along[kRows];
        const auto element = [&](std::size_t r, std::size_t c) {  // NaN is the bin of no label
            return select(load(numbers + c) == own[r], Vec{}, load(rows + r * width + c));
        };
        for (std::size_t r = 0; r < kRows; ++r) {
            own[r] = broadcast(exact ? __builtin_nan("") : numbers[i + r]);
            scores[r] = broadcast(head[i + r]);
            along[r] = element(r, diagonal) * load(head + diagonal);
        }
        for (std::size_t c = diagonal + kLanes; c < layout.padded; c += kLanes) {
            const Vec x = load(head + c);
            Vec total = load(product + c);
            for (std::size_t r = 0; r < kRows; ++r) {
                const Vec g = element(r, c);
                along[r] += g * x;
                total += scores[r] * g;
            }
            store(product + c) = total;
        }
        for (std::size_t r = 0; r < kRows; ++r) product[i + r] += sum(along[r]);
    }
}

}  // namespace
}  // namespace labelboost
