// Approximate qualities of all the splits of a long sorted list of examples, in single precision.
//
// The list is cut into sixteen pieces of equal length, one per vector lane, which are walked side by side: the
// sums of sixteen regions grow in one vector each, so that nothing is ever copied or transposed but the
// gradients themselves (K numbers per example instead of K^2 / 2). A forward walk gives the regions before
// each split, a backward walk those behind it; both only add, so small regions do not suffer from cancellation.
// What single precision cannot decide is given the quality -infinity and left to the exact evaluation, as are
// all candidates that come close to the best.
// Cost per example and direction, in vector operations: (K^2 / 2 + K^3 / 6) / 16, or (B K^2) / 16 with B bins; in
// diagonal form 10 K / 16.
#pragma once

#include "cholesky.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kWide = Lanes<float>::kCount;

// Sums of sixteen regions in joint form: gradients, additive vectors, upper triangle of the Gram matrix.
struct WideJoint {
    std::size_t labels;
    float* values;

    static std::size_t vectors(std::size_t labels) { return 2 * labels + labels * (labels + 1) / 2; }
    // Calls visit(vector number, place in JointLayout) for every element.
    template <typename Visit>
    static void for_each(std::size_t labels, const Visit& visit) {
        const JointLayout layout(labels);
        std::size_t e = 0;
        for (std::size_t k = 0; k < labels; ++k) visit(e++, layout.gradient() + k);
        for (std::size_t k = 0; k < labels; ++k) visit(e++, layout.additive() + k);
        for (std::size_t i = 0; i < labels; ++i) {
            for (std::size_t j = i; j < labels; ++j) visit(e++, layout.diagonal(i) + (j - i));
        }
    }
    float* gradient(std::size_t k) const { return values + kWide * k; }
    float* additive(std::size_t k) const { return values + kWide * (labels + k); }
    float* gram(std::size_t i, std::size_t j) const {  // i <= j
        return values + kWide * (2 * labels + i * labels - i * (i + 1) / 2 + j);
    }

    // Adds one example per lane; `step` holds their gradients, a vector per label.
    void add(const float* step, VecF weight) const {
        float* target = gram(0, 0);
        for (std::size_t i = 0; i < labels; ++i) {
            const VecF scaled = weight * load(step + kWide * i);
            store(gradient(i)) += scaled;
            store(additive(i)) += absolute(scaled);
            for (std::size_t j = i; j < labels; ++j, target += kWide) store(target) += scaled * load(step + kWide * j);
        }
    }
};

// The same for one bin per sign and the paper's aggregation: two unknowns, whose common element is the sum of Gram[i][j]
// over all labels i and j of different sign. With signs s that is (sum Gram - sum s_i s_j Gram) / 2 over the pairs
// i < j. The second sum is formed while the examples are added; the first is a sum over examples itself.
struct WideSigned : WideJoint {
    static std::size_t vectors(std::size_t labels) { return WideJoint::vectors(labels) + 1; }
    float* pairs() const { return values + kWide * WideJoint::vectors(labels); }

    // To be called when the sums of the examples before a lane's first have been filled in.
    void start() const {
        VecF total = {};
        for (std::size_t i = 0; i < labels; ++i) {
            for (std::size_t j = i + 1; j < labels; ++j) total += load(gram(i, j));
        }
        store(pairs()) = total;
    }

    void add(const float* step, VecF weight) const {
        WideJoint::add(step, weight);
        add_pairs(step, weight);
    }

    // Adds one example per lane and returns the sum of s_i s_j Gram[i][j]. signs: room for one vector per label.
    VecF add_signed(const float* step, VecF weight, float* signs) const {
        add_pairs(step, weight);
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF scaled = weight * load(step + kWide * k);
            const VecF total = load(gradient(k)) + scaled;
            store(gradient(k)) = total;
            store(additive(k)) += absolute(scaled);
            store(signs + kWide * k) = select(total < VecF{}, broadcast(-1.0f), broadcast(1.0f));
        }
        VecF all = {};
        float* target = gram(0, 0);
        for (std::size_t i = 0; i < labels; ++i) {
            const VecF scaled = weight * load(step + kWide * i);
            store(target) += scaled * load(step + kWide * i);
            target += kWide;
            // Two chains of additions, as one would wait for itself.
            VecF even = {}, odd = {};
            std::size_t j = i + 1;
            for (; j + 2 <= labels; j += 2, target += 2 * kWide) {
                const VecF first = load(target) + scaled * load(step + kWide * j);
                const VecF second = load(target + kWide) + scaled * load(step + kWide * (j + 1));
                store(target) = first;
                store(target + kWide) = second;
                even += first * load(signs + kWide * j);
                odd += second * load(signs + kWide * (j + 1));
            }
            if (j < labels) {
                const VecF last = load(target) + scaled * load(step + kWide * j);
                store(target) = last;
                target += kWide;
                even += last * load(signs + kWide * j);
            }
            all += load(signs + kWide * i) * (even + odd);
        }
        return all;
    }

private:
    void add_pairs(const float* step, VecF weight) const {
        VecF total = {}, squares = {};
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF g = load(step + kWide * k);
            total += g;
            squares += g * g;
        }
        store(pairs()) += 0.5f * weight * (total * total - squares);
    }
};

// The same in diagonal form: gradients, then the diagonal of the Hessian.
struct WideDiagonal {
    std::size_t labels;
    float* values;

    static std::size_t vectors(std::size_t labels) { return 2 * labels; }
    template <typename Visit>
    static void for_each(std::size_t labels, const Visit& visit) {
        const DiagonalLayout layout(labels);
        for (std::size_t k = 0; k < labels; ++k) visit(k, layout.gradient() + k);
        for (std::size_t k = 0; k < labels; ++k) visit(labels + k, layout.hessian() + k);
    }
    float* gradient(std::size_t k) const { return values + kWide * k; }
    float* hessian(std::size_t k) const { return values + kWide * (labels + k); }

    void add(const float* step, VecF weight) const {
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF g = load(step + kWide * k);
            const VecF size = absolute(g);
            store(gradient(k)) += weight * g;
            store(hessian(k)) += weight * (size - size * size);
        }
    }
};

// How the sums of sixteen regions came about.
struct WideRegion {
    VecF weight;        // of the examples
    bool by_subtraction;

    // A label with a smaller additive sum may have none at all, and belong to no bin.
    float least(const ScreenTask& task, std::size_t label) const {
        const double total = task.total[JointLayout(task.labels).additive() + label];
        return by_subtraction ? static_cast<float>(1e-5 * total) : 0.0f;
    }
};

inline VecF score_wide_diagonal(const WideDiagonal& sums, const WideRegion& region, const ScreenTask& task,
                                VecFMask& doubt) {
    VecF total = {}, best = {};
    // In |g| (1 - |g|) rounding leaves an error of 2^-24 or so where |g| is close to 1.
    const VecF least = 1e-4f * region.weight;
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF a = maximum(load(sums.hessian(k)), VecF{}) + static_cast<float>(task.l2);
        doubt |= a < least;
        const VecFMask usable = a > broadcast(static_cast<float>(task.noise));
        const VecF gain = select(usable, g * g / select(usable, a, broadcast(1.0f)), VecF{});
        total += gain;
        best = maximum(best, gain);
    }
    return -0.5f * (task.single ? best : total);
}

inline VecF score_wide_exact(const WideJoint& sums, const ScreenTask& task, float* system, VecFMask& doubt) {
    const std::size_t n = sums.labels;
    const float* gram = sums.gram(0, 0);
    float* target = system;
    for (std::size_t i = 0; i < n; ++i) {
        float* diagonal = target;
        for (std::size_t j = i; j < n; ++j, gram += kWide, target += kWide) store(target) = -load(gram);
        const VecF own = load(sums.additive(i));
        store(diagonal) += own + static_cast<float>(task.l2);
        doubt |= load(diagonal) < kLeastKept * own;
        store(target) = -load(sums.gradient(i));
        target += kWide;
    }
    VecF kept;
    const VecF quality = factorise_lanes<float>(system, n, static_cast<float>(task.noise), &kept);
    doubt |= kept < broadcast(kLeastKept);
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

    void add(VecF criterion, VecFMask member) {
        count += select(member, broadcast(1.0f), VecF{});
        low = select(member, minimum(low, criterion), low);
        high = select(member, maximum(high, criterion), high);
    }

    // Returns where the bins depend on digits that single precision does not have.
    VecFMask choose_bins(const float* bins_for) {
        for (std::size_t lane = 0; lane < kWide; ++lane) bins[lane] = bins_for[static_cast<int>(count[lane])];
        const VecFMask several = bins > broadcast(1.0f);
        const VecF range = select(several, high - low, broadcast(1.0f));
        const VecF size = select(several, maximum(absolute(low), absolute(high)), broadcast(1.0f));
        const VecFMask close = several & ~(range > 1e-3f * size);
        scale = bins / select(close, broadcast(1.0f), range);
        return close;
    }

    VecF bin_of(VecF criterion, VecFMask member, VecFMask& doubt) const {
        const VecF position = select(member, (criterion - low) * scale, VecF{});
        const VecF nearest = round_down(position + 0.5f);
        const VecF error = 1e-5f * scale * maximum(absolute(low), absolute(high));
        doubt |= member & (absolute(position - nearest) < error) & (nearest > broadcast(0.5f)) & (nearest < bins - 0.5f);
        return minimum(round_down(position), bins - 1.0f);
    }
};

// The labels of sixteen regions in their bins: membership, one vector (of 0 or 1) per label and bin.
struct WideBins {
    std::size_t labels, bins;
    const float* member;

    VecF at(std::size_t label, std::size_t bin) const { return load(member + kWide * (label * bins + bin)); }
};

// total[i][q] = the sum of Gram[i][j] over the labels j > i of bin q, for kCount bins from `first` on.
template <std::size_t kCount>
inline void sum_rows_by_bin(const WideJoint& sums, const WideBins& map, std::size_t first, float* total) {
    for (std::size_t i = 0; i < map.labels; ++i) {
        VecF own[kCount] = {};
        const float* gram = sums.gram(i, i) + kWide;
        for (std::size_t j = i + 1; j < map.labels; ++j, gram += kWide) {
            const VecF element = load(gram);
            for (std::size_t q = 0; q < kCount; ++q) own[q] += element * map.at(j, first + q);
        }
        for (std::size_t q = 0; q < kCount; ++q) store(total + kWide * (i * map.bins + first + q)) = own[q];
    }
}

// out[q] = the sum of total[i][q] over the labels i of bin b, for kCount bins from `first` on.
template <std::size_t kCount>
inline void sum_labels_of_bin(const WideBins& map, const float* total, std::size_t b, std::size_t first, float* out) {
    VecF own[kCount] = {};
    for (std::size_t i = 0; i < map.labels; ++i) {
        const VecF member = map.at(i, b);
        for (std::size_t q = 0; q < kCount; ++q) own[q] += member * load(total + kWide * (i * map.bins + first + q));
    }
    for (std::size_t q = 0; q < kCount; ++q) store(out + kWide * (first + q)) = own[q];
}

// Calls work with as many bins at a time as fit into registers together.
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
        doubt |= (absolute(g) < 1e-5f * d) | (a < kLeastKept * d) | (d < broadcast(region.least(task, k)));
        const VecF c = select((a > broadcast(noise)) & (absolute(g) > broadcast(noise)), -g / a, VecF{});
        store(criterion + kWide * k) = c;
        store(diagonal + kWide * k) = a;
        negative.add(c, c < VecF{});
        positive.add(c, c > VecF{});
    }
    doubt |= negative.choose_bins(task.bins_for) | positive.choose_bins(task.bins_for);
    const std::size_t bins = most_bins(negative.bins + positive.bins);
    if (bins == 0) return VecF{};
    for (std::size_t k = 0; k < n; ++k) {
        const VecF c = load(criterion + kWide * k);
        const VecF bin_below = negative.bin_of(c, c < VecF{}, doubt);
        const VecF bin_above = positive.bin_of(c, c > VecF{}, doubt) + negative.bins;
        const VecF bin = select(c < VecF{}, bin_below, select(c > VecF{}, bin_above, broadcast(-1.0f)));
        for (std::size_t b = 0; b < bins; ++b) {
            const VecFMask here = bin == broadcast(static_cast<float>(b));
            store(member + kWide * (k * bins + b)) = select(here, broadcast(1.0f), VecF{});
        }
    }

    const WideBins map{n, bins, member};
    float* total = member + kWide * n * bins;       // labels x bins
    float* pairs = total + kWide * n * bins;        // bins x bins: each pair of labels once, in either triangle
    float* system = pairs + kWide * bins * bins;
    for_bins(bins, [&]<std::size_t kCount>(std::size_t first) { sum_rows_by_bin<kCount>(sums, map, first, total); });
    for (std::size_t b = 0; b < bins; ++b) {
        for_bins(bins, [&]<std::size_t kCount>(std::size_t first) {
            sum_labels_of_bin<kCount>(map, total, b, first, pairs + kWide * b * bins);
        });
    }
    for (std::size_t b = 0; b < bins; ++b) {
        float* target = system + kWide * lane_row(b, bins);
        VecF gradient = {}, own = {};
        for (std::size_t k = 0; k < n; ++k) {
            gradient += map.at(k, b) * load(sums.gradient(k));
            own += map.at(k, b) * load(diagonal + kWide * k);
        }
        if (task.exact) own -= 2.0f * load(pairs + kWide * (b * bins + b));
        store(target) = own;
        for (std::size_t q = b + 1; q < bins; ++q) {
            store(target + kWide * (q - b)) =
                -load(pairs + kWide * (b * bins + q)) - load(pairs + kWide * (q * bins + b));
        }
        store(target + kWide * (bins - b)) = -gradient;
    }
    VecF kept;
    const VecF quality = factorise_lanes<float>(system, bins, noise, &kept);
    doubt |= kept < broadcast(kLeastKept);
    return quality;
}

inline VecF score_wide_signed(const WideSigned& sums, const WideRegion& region, VecF signed_pairs, const ScreenTask& task,
                              VecFMask& doubt) {
    const auto l2 = static_cast<float>(task.l2);
    const VecF noise = broadcast(static_cast<float>(task.noise));
    const VecF one = broadcast(1.0f);
    VecF gradient[2] = {}, diagonal[2] = {};
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF d = load(sums.additive(k));
        const VecF a = maximum(d - load(sums.gram(k, k)), VecF{}) + l2;
        // A label without any gradient belongs to no bin; one whose sign is rounding belongs to an unknown one.
        doubt |= (absolute(g) < 1e-5f * d) | (a < kLeastKept * d) | (d < broadcast(region.least(task, k)));
        const VecFMask negative = g < -noise;
        const VecFMask positive = g > noise;
        gradient[0] += select(negative, g, VecF{});
        gradient[1] += select(positive, g, VecF{});
        diagonal[0] += select(negative, a, VecF{});
        diagonal[1] += select(positive, a, VecF{});
    }
    const VecF common = 0.5f * (load(sums.pairs()) - signed_pairs);
    const VecF first = select(diagonal[0] > VecF{}, diagonal[0], one);
    const VecF second = select(diagonal[1] > VecF{}, diagonal[1], one);
    const VecF product = first * second;
    const VecF determinant = product - common * common;
    doubt |= determinant < kLeastKept * product;
    doubt |= minimum(first, second) <= noise;
    const VecF numerator = gradient[0] * gradient[0] * second + gradient[1] * gradient[1] * first +
                           2.0f * common * gradient[0] * gradient[1];
    return -0.5f * numerator / determinant;
}

// Sorts the gradients of the examples by step and label: all lanes of a label in one vector. wanted: per step, whether
// any lane has a split there.
inline void gather_steps(const ScreenTask& task, std::size_t steps, float* gathered, float* weights, float* wanted) {
    const std::size_t blocks = (task.labels + kWide - 1) / kWide;
    for (std::size_t s = 0; s < steps; ++s) {
        const float* row[kWide] = {};
        float any = 0.0f;
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            const std::size_t place = lane * steps + s;
            if (place < task.count) row[lane] = task.rows[place];
            weights[kWide * s + lane] = place < task.count ? task.weights[place] : 0.0f;
            if (place < task.count && task.wanted[place] != 0) any = 1.0f;
        }
        wanted[s] = any;
        for (std::size_t block = 0; block < blocks; ++block) {
            VecF rows[kWide];
            for (std::size_t lane = 0; lane < kWide; ++lane) {
                rows[lane] = row[lane] != nullptr ? load(row[lane] + kWide * block) : VecF{};
            }
            transpose(rows);
            for (std::size_t k = kWide * block; k < task.labels && k < kWide * (block + 1); ++k) {
                store(gathered + kWide * (s * task.labels + k)) = rows[k - kWide * block];
            }
        }
    }
}

// What lies before and behind the first example of each lane, from the sums of all lanes.
struct LaneStarts {
    VecF before, behind;
    double before_next;  // up to the end of the last lane

    // In double precision; total: of all there is.
    LaneStarts(VecF own, double before_first, double total) {
        const Vec lower = lower_half(own), upper = upper_half(own);
        const Vec up_to_lower = running_sums(lower) + before_first;
        const Vec up_to_upper = running_sums(upper) + up_to_lower[7];
        before = join(up_to_lower - lower, up_to_upper - upper);
        behind = join(total - up_to_lower, total - up_to_upper);
        before_next = up_to_upper[7];
    }
};

// start(sums) is told when the first sums are complete; score(sums, step, weight, region, ...) adds one example per lane
// and returns the qualities of the sixteen regions, and where they are in doubt.
template <typename Sums, typename Start, typename Score>
inline void screen(const ScreenTask& task, float* scratch, float* first, float* rest, const Start& start,
                   const Score& score) {
    const std::size_t n = task.labels;
    const std::size_t steps = (task.count + kWide - 1) / kWide;
    const std::size_t size = kWide * Sums::vectors(n);
    float* gathered = scratch;
    float* weights = gathered + kWide * n * steps;
    float* wanted = weights + kWide * steps;
    Sums forward, backward;
    forward.labels = backward.labels = n;
    forward.values = wanted + kWide * steps;
    backward.values = forward.values + size;
    float* rest_of_scratch = backward.values + size;
    gather_steps(task, steps, gathered, weights, wanted);

    for (std::size_t e = 0; e < size; e += kWide) store(forward.values + e) = VecF{};
    VecF lane_weight = {};
    for (std::size_t s = 0; s < steps; ++s) {
        forward.add(gathered + kWide * n * s, load(weights + kWide * s));
        lane_weight += load(weights + kWide * s);
    }
    Sums::for_each(n, [&](std::size_t e, std::size_t place) {
        const LaneStarts starts(load(forward.values + kWide * e), task.before[place], task.total[place]);
        store(forward.values + kWide * e) = starts.before;
        store(backward.values + kWide * e) = starts.behind;
        task.before[place] = starts.before_next;
    });
    const LaneStarts weight_starts(lane_weight, *task.weight_before, task.total_weight);
    *task.weight_before = weight_starts.before_next;
    start(forward);
    start(backward);

    const auto advance = [&](const Sums& sums, const float* step, VecF weight, const WideRegion& region, VecFMask doubt,
                             std::size_t s, float* target) {
        if (wanted[s] == 0.0f) {
            sums.add(step, weight);
            return;
        }
        const VecF quality = score(sums, step, weight, region, rest_of_scratch, doubt);
        store(target + kWide * s) = select(doubt, broadcast(-__builtin_inff()), quality);
    };
    VecF region = weight_starts.before;
    for (std::size_t s = 0; s < steps; ++s) {
        const VecF weight = load(weights + kWide * s);
        region += weight;
        advance(forward, gathered + kWide * n * s, weight, {region, false}, VecFMask{}, s, first);
    }
    // What lies behind the last example of a lane is complete already. It was found by subtraction, so that of a small
    // region near the end of a long list few digits are right.
    const VecF least = broadcast(static_cast<float>(kLeastShare * task.total_weight));
    region = weight_starts.behind;
    for (std::size_t s = steps; s-- > 0;) {
        const std::size_t last = s + 1 < steps ? s + 1 : s;
        const VecF weight = s + 1 < steps ? load(weights + kWide * last) : VecF{};
        region += weight;
        advance(backward, gathered + kWide * n * last, weight, {region, true}, region < least, s, rest);
    }
}

void screen_joint(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideJoint>(
        task, scratch, first, rest, [](const WideJoint&) {},
        [&](const WideJoint& sums, const float* step, VecF weight, const WideRegion& region, float* room,
            VecFMask& doubt) {
            sums.add(step, weight);
            return task.bins_for == nullptr ? score_wide_exact(sums, task, room, doubt)
                                            : score_wide_binned(sums, region, task, room, doubt);
        });
}

void screen_signed(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideSigned>(
        task, scratch, first, rest, [](const WideSigned& sums) { sums.start(); },
        [&](const WideSigned& sums, const float* step, VecF weight, const WideRegion& region, float* room,
            VecFMask& doubt) {
            const VecF signed_pairs = sums.add_signed(step, weight, room);
            return score_wide_signed(sums, region, signed_pairs, task, doubt);
        });
}

void screen_diagonal(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideDiagonal>(
        task, scratch, first, rest, [](const WideDiagonal&) {},
        [&](const WideDiagonal& sums, const float* step, VecF weight, const WideRegion& region, float*,
            VecFMask& doubt) {
            sums.add(step, weight);
            return score_wide_diagonal(sums, region, task, doubt);
        });
}

}  // namespace
}  // namespace labelboost
