// Qualities of sixteen regions at a time, from their sums in single precision, and where they are in doubt.
//
// In doubt is whatever depends on digits that single precision does not have: a pivot or a second derivative that is left
// over from larger numbers, a label that may or may not belong to a bin, a criterion on the boundary between bins.
// Cost in vector operations: K^3 / 6 without label bins, 10 K with one bin per sign, (K^2 / 2 + K B) B with B bins, 5 K in
// diagonal form.
#pragma once

#include "cholesky.hpp"
#include "wide_sums.hpp"

namespace labelboost {
namespace {

// How the sums of sixteen regions came about.
struct WideRegion {
    VecF weight;  // of the examples
    VecFMask by_subtraction;

    // A label with a smaller additive sum may have none at all, and belong to no bin.
    VecF least(const ScreenTask& task, std::size_t label) const {
        if (task.total == nullptr) return VecF{};
        const double total = task.total[JointLayout(task.labels).additive() + label];
        return select(by_subtraction, broadcast(static_cast<float>(1e-5 * total)), VecF{});
    }
};

// Qualities, or -infinity where they are in doubt, as those are that grew too large for single precision on the way.
inline VecF unless_in_doubt(VecF quality, VecFMask doubt) {
    return select(doubt | ~(quality == quality), broadcast(-__builtin_inff()), quality);
}

// The sum of the gains of labels or, for single-label heads, the best one, of which numerator and denominator are kept: two
// products compare fractions faster than divisions.
struct WideGain {
    bool single;
    VecF total = {}, numerator = {}, denominator = broadcast(1.0f);

    void add(VecF square, VecF a, VecFMask usable) {
        if (single) {
            const VecFMask better = usable & (square * denominator > numerator * a);
            numerator = select(better, square, numerator);
            denominator = select(better, a, denominator);
        } else {
            total += select(usable, square / select(usable, a, broadcast(1.0f)), VecF{});
        }
    }
    VecF quality() const { return -0.5f * (single ? numerator / denominator : total); }
};

// In |g| (1 - |g|) rounding leaves an error of 2^-24 or so where |g| is close to 1: smaller Hessians are in doubt.
inline VecF least_hessian(const WideRegion& region) { return 1e-4f * region.weight; }

// Adds one example per lane first, as sums that have just been added to need not be loaded again.
inline VecF score_wide_diagonal(const WideDiagonal& sums, const float* step, VecF weight, const WideRegion& region,
                                const ScreenTask& task, VecFMask& doubt) {
    const VecF least = least_hessian(region);
    const VecF noise = broadcast(static_cast<float>(task.noise));
    WideGain gain{task.single};
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const auto [g, h] = sums.add_label(k, step, weight);
        const VecF a = maximum(h, VecF{}) + static_cast<float>(task.l2);
        doubt |= a < least;
        gain.add(g * g, a, a > noise);
    }
    return gain.quality();
}

// The systems of the regions. missed: null, or what to subtract from their diagonals.
inline void form_wide_systems(const WideJoint& sums, const ScreenTask& task, const float* missed, float* systems,
                              VecFMask& doubt) {
    const std::size_t n = sums.labels;
    const float* gram = sums.gram(0, 0);
    float* target = systems;
    for (std::size_t i = 0; i < n; ++i) {
        float* diagonal = target;
        for (std::size_t j = i; j < n; ++j, gram += kWide, target += kWide) store(target) = -load(gram);
        const VecF own = load(sums.additive(i));
        store(diagonal) += own + static_cast<float>(task.l2);
        if (missed != nullptr) store(diagonal) -= load(missed + kWide * i);
        doubt |= load(diagonal) < kLeastKept * own;
        store(target) = -load(sums.gradient(i));
        target += kWide;
    }
}

inline VecF score_wide_exact(const WideJoint& sums, const ScreenTask& task, float* system, VecFMask& doubt) {
    const std::size_t n = sums.labels;
    form_wide_systems(sums, task, nullptr, system, doubt);
    const VecF quality = factorise_lanes<float>(system, n, static_cast<float>(task.noise), kLeastKept, &doubt);
    return quality;
}

inline std::size_t most_bins(VecF bins) {
    float most = 0.0f;
    for (std::size_t lane = 0; lane < kWide; ++lane) most = bins[lane] > most ? bins[lane] : most;
    return static_cast<std::size_t>(most);
}

// The labels of one sign in each lane: their number, the range of their criteria, and their bins.
struct WideSign {
    VecF count = {};
    VecF low = broadcast(__builtin_inff());
    VecF high = broadcast(-__builtin_inff());
    VecF bins = {};
    VecF scale = {};  // bins per unit of the criterion
    VecF error = {};  // of a place on that scale

    void add(VecF criterion, VecFMask member) {
        count += select(member, broadcast(1.0f), VecF{});
        low = select(member, minimum(low, criterion), low);
        high = select(member, maximum(high, criterion), high);
    }

    // Returns where the bins depend on digits that single precision does not have.
    VecFMask choose_bins(const float* bins_for, std::size_t labels) {
        const VecFMask places = integers(count);
        bins = labels < kWide ? pick<kWide>(bins_for, places)
                              : from_lanes<float>([&](std::size_t lane) { return bins_for[places[lane]]; });
        const VecFMask several = bins > broadcast(1.0f);
        const VecF range = select(several, high - low, broadcast(1.0f));
        const VecF size = select(several, maximum(absolute(low), absolute(high)), broadcast(1.0f));
        const VecFMask close = several & ~(range > 1e-3f * size);
        scale = bins / select(close, broadcast(1.0f), range);
        error = 1e-5f * scale * maximum(absolute(low), absolute(high));
        return close;
    }
};

// The bins of labels with these criteria, those of negative ones first; -1: of none.
inline VecF bin_of(VecF criterion, const WideSign& negative, const WideSign& positive, VecFMask& doubt) {
    const VecFMask below = criterion < VecF{};
    const VecFMask member = below | (criterion > VecF{});
    const auto own = [&](VecF of_negative, VecF of_positive) { return select(below, of_negative, of_positive); };
    const VecF bins = own(negative.bins, positive.bins);
    const VecF distance = criterion - own(negative.low, positive.low);
    const VecF position = select(member, distance * own(negative.scale, positive.scale), VecF{});
    const VecF nearest = round_down(position + 0.5f);
    doubt |= member & (absolute(position - nearest) < own(negative.error, positive.error)) & (nearest > broadcast(0.5f)) &
             (nearest < bins - 0.5f);
    const VecF bin = minimum(round_down(position), bins - 1.0f) + own(VecF{}, negative.bins);
    return select(member, bin, broadcast(-1.0f));
}

// The labels of sixteen regions in their bins: membership, one vector (of 0 or 1) per label and bin.
struct WideBins {
    std::size_t labels, bins;
    const float* member;

    VecF at(std::size_t label, std::size_t bin) const { return load(member + kWide * (label * bins + bin)); }
};

// table[i][q] = the sum of Gram[i][j] over the labels j > i of bin q, for kCount bins from `first` on. Rows of the table have
// `width` elements.
template <std::size_t kCount>
inline void sum_rows_by_bin(const WideJoint& sums, const WideBins& map, std::size_t first, float* table,
                            std::size_t width) {
    for (std::size_t i = 0; i < map.labels; ++i) {
        VecF own[kCount] = {};
        const float* gram = sums.gram(i, i) + kWide;
        for (std::size_t j = i + 1; j < map.labels; ++j, gram += kWide) {
            const VecF element = load(gram);
            for (std::size_t q = 0; q < kCount; ++q) own[q] += element * map.at(j, first + q);
        }
        for (std::size_t q = 0; q < kCount; ++q) store(table + kWide * (i * width + first + q)) = own[q];
    }
}

// out[q] = the sum of table[i][q] over the labels i of bin b, for kCount columns from `first` on.
template <std::size_t kCount>
inline void sum_labels_of_bin(const WideBins& map, const float* table, std::size_t width, std::size_t b, std::size_t first,
                              float* out) {
    VecF own[kCount] = {};
    for (std::size_t i = 0; i < map.labels; ++i) {
        const VecF member = map.at(i, b);
        for (std::size_t q = 0; q < kCount; ++q) own[q] += member * load(table + kWide * (i * width + first + q));
    }
    for (std::size_t q = 0; q < kCount; ++q) store(out + kWide * (first + q)) = own[q];
}

// Calls work with as many bins, or columns, at a time as fit into registers together.
template <typename Work>
inline void for_bins(std::size_t bins, const Work& work) {
    for (std::size_t first = 0; first < bins;) {
        const std::size_t left = bins - first;
        const std::size_t count = left > 8 ? (left + 1) / 2 > 8 ? 8 : (left + 1) / 2 : left;
        switch (count) {
            case 1: work.template operator()<1>(first); break;
            case 2: work.template operator()<2>(first); break;
            case 3: work.template operator()<3>(first); break;
            case 4: work.template operator()<4>(first); break;
            case 5: work.template operator()<5>(first); break;
            case 6: work.template operator()<6>(first); break;
            case 7: work.template operator()<7>(first); break;
            default: work.template operator()<8>(first); break;
        }
        first += count;
    }
}

// (K^2 / 2 + K B) B multiply-adds for B bins, one load each. Each lane numbers its bins on its own, so that B is the most
// bins that any lane has.
inline VecF score_wide_binned(const WideJoint& sums, const WideRegion& region, const ScreenTask& task, float* scratch,
                              VecFMask& doubt) {
    const std::size_t n = sums.labels;
    const auto l2 = static_cast<float>(task.l2);
    const auto noise = static_cast<float>(task.noise);

    float* criterion = scratch;
    float* diagonal = criterion + kWide * n;
    float* member = diagonal + kWide * n;
    WideSign negative, positive;
    for (std::size_t k = 0; k < n; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF d = load(sums.additive(k));
        const VecF a = maximum(d - load(sums.gram(k, k)), VecF{}) + l2;
        doubt |= (absolute(g) < 1e-5f * d) | (a < kLeastKept * d) | (d < region.least(task, k));
        const VecF c = select((a > broadcast(noise)) & (absolute(g) > broadcast(noise)), -g / a, VecF{});
        store(criterion + kWide * k) = c;
        store(diagonal + kWide * k) = a;
        negative.add(c, c < VecF{});
        positive.add(c, c > VecF{});
    }
    doubt |= negative.choose_bins(task.bins_for, n) | positive.choose_bins(task.bins_for, n);
    const std::size_t bins = most_bins(negative.bins + positive.bins);
    if (bins == 0) return VecF{};
    // Of each label: its Gram elements by bin, its gradient and its diagonal element. Then the sums of these by bin, of each
    // pair of labels once, in either triangle.
    const std::size_t width = bins + 2;
    float* table = member + kWide * n * bins;
    float* pairs = table + kWide * n * width;
    float* system = pairs + kWide * bins * width;
    for (std::size_t k = 0; k < n; ++k) {
        store(table + kWide * (k * width + bins)) = load(sums.gradient(k));
        store(table + kWide * (k * width + bins + 1)) = load(diagonal + kWide * k);
        const VecF bin = bin_of(load(criterion + kWide * k), negative, positive, doubt);
        for (std::size_t b = 0; b < bins; ++b) {
            const VecFMask here = bin == broadcast(static_cast<float>(b));
            store(member + kWide * (k * bins + b)) = select(here, broadcast(1.0f), VecF{});
        }
    }

    const WideBins map{n, bins, member};
    for_bins(bins, [&]<std::size_t kCount>(std::size_t first) { sum_rows_by_bin<kCount>(sums, map, first, table, width); });
    for (std::size_t b = 0; b < bins; ++b) {
        for_bins(width, [&]<std::size_t kCount>(std::size_t first) {
            sum_labels_of_bin<kCount>(map, table, width, b, first, pairs + kWide * b * width);
        });
    }
    for (std::size_t b = 0; b < bins; ++b) {
        float* target = system + kWide * lane_row(b, bins);
        const float* const own_pairs = pairs + kWide * b * width;
        VecF own = load(own_pairs + kWide * (bins + 1));
        if (task.exact) {
            const VecF all = own;
            own -= 2.0f * load(own_pairs + kWide * b);
            doubt |= own < kLeastKept * all;
        }
        store(target) = own;
        for (std::size_t q = b + 1; q < bins; ++q) {
            store(target + kWide * (q - b)) = -load(own_pairs + kWide * q) - load(pairs + kWide * (q * width + b));
        }
        store(target + kWide * (bins - b)) = -load(own_pairs + kWide * bins);
    }
    const VecF quality = factorise_lanes<float>(system, bins, noise, kLeastKept, &doubt);
    return quality;
}

// The system of one bin per sign: gradients and diagonal elements of either bin; common: minus the element of both.
inline VecF solve_signed(VecF negative, VecF positive, VecF negative_own, VecF positive_own, VecF common, VecF noise,
                         VecFMask& doubt) {
    const VecF one = broadcast(1.0f);
    const VecF first = select(negative_own > VecF{}, negative_own, one);
    const VecF second = select(positive_own > VecF{}, positive_own, one);
    const VecF product = first * second;
    const VecF determinant = product - common * common;
    doubt |= determinant < kLeastKept * product;
    doubt |= minimum(first, second) <= noise;
    const VecF numerator = negative * negative * second + positive * positive * first + 2.0f * common * negative * positive;
    return -0.5f * numerator / determinant;
}

inline VecF score_wide_signed(const WideSigned& sums, const WideRegion& region, VecF signed_pairs, const ScreenTask& task,
                              VecFMask& doubt) {
    const auto l2 = static_cast<float>(task.l2);
    const VecF noise = broadcast(static_cast<float>(task.noise));
    VecF gradient[2] = {}, diagonal[2] = {};
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF d = load(sums.additive(k));
        const VecF a = maximum(d - load(sums.gram(k, k)), VecF{}) + l2;
        // A label without any gradient belongs to no bin; one whose sign is rounding belongs to an unknown one.
        doubt |= (absolute(g) < 1e-5f * d) | (a < kLeastKept * d) | (d < region.least(task, k));
        const VecFMask negative = g < -noise;
        const VecFMask positive = g > noise;
        gradient[0] += select(negative, g, VecF{});
        gradient[1] += select(positive, g, VecF{});
        diagonal[0] += select(negative, a, VecF{});
        diagonal[1] += select(positive, a, VecF{});
    }
    const VecF common = 0.5f * (load(sums.pairs()) - signed_pairs);
    return solve_signed(gradient[0], gradient[1], diagonal[0], diagonal[1], common, noise, doubt);
}

}  // namespace
}  // namespace labelboost
