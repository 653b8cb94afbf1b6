// Bounds on the qualities of the regions that arise on a leap (see leaps.hpp), and the way to look at them closely.
//
// Without label bins the matrix is that of the whole system. With the bins of any region the quadratic form of a system
// that is aggregated exactly is the same on fewer vectors. The paper's aggregation leaves out the elements between labels
// of a bin: what that may take away from the form is subtracted from the diagonal. With one bin per sign the system has
// two unknowns, between which labels move where their gradient changes its sign.
#pragma once

#include "wide_scores.hpp"

namespace labelboost {
namespace {

// The examples that join sixteen regions on a leap, in their order; those behind `count` have no weight.
struct WideLeap {
    const float* steps[kLongLeap];
    VecF weights[kLongLeap];
    std::size_t count;
    float* sums;  // of all examples of the leap, among them those that join
};

// For complete heads without label bins or with several of them per sign.
template <std::size_t kLength>
struct LeapJoint {
    static constexpr std::size_t kLeap = kLength;
    using Sums = WideJoint;
    using Walked = WideJoint;  // what the leaps themselves are walked along with
    const ScreenTask& task;
    float* room;

    // Whether what `look_ahead` returns are qualities of the regions, not only bounds.
    bool attains() const { return task.bins_for == nullptr; }

    // Bounds on the qualities after each example; returned: for the region as it is.
    VecF look_ahead(const WideJoint& sums, const WideRegion&, const WideLeap& leap, VecF* bounds, VecFMask& doubt) const {
        const std::size_t n = sums.labels;
        float* const gradients = room;                          // labels x kLeap, then their solutions
        float* const missed = gradients + kWide * kLeap * n;    // by label: what the bins may take from the diagonal
        float* const system = missed + 3 * kWide * n;
        const auto noise = static_cast<float>(task.noise);
        add_up_gradients(sums, leap, gradients);
        const bool within_bins = task.bins_for != nullptr && !task.exact;
        if (within_bins) find_missed(sums, leap, gradients, missed);
        form_wide_systems(sums, task, within_bins ? missed : nullptr, system, doubt);
        // An unknown that is dropped here may count later on.
        for (std::size_t i = 0; i < n; ++i) doubt |= ~(load(system + kWide * lane_row(i, n)) > broadcast(noise));
        const VecF quality = factorise_lanes<float>(system, n, noise, kLeastKept, &doubt);
        VecF total[kLeap] = {};
        for (std::size_t i = 0; i < n; ++i) {
            float* const own = gradients + kWide * kLeap * i;
            VecF rest[kLeap];
            for (std::size_t t = 0; t < kLeap; ++t) rest[t] = load(own + kWide * t);
            const float* row = system;
            for (std::size_t k = 0; k < i; ++k) {
                const VecF factor = load(row + kWide * (i - k));
                const float* const solved = gradients + kWide * kLeap * k;
                for (std::size_t t = 0; t < kLeap; ++t) rest[t] -= factor * load(solved + kWide * t);
                row += kWide * (n + 1 - k);
            }
            const VecF inverse = load(row);
            for (std::size_t t = 0; t < kLeap; ++t) {
                const VecF z = rest[t] * inverse;
                store(own + kWide * t) = z;
                total[t] += z * z;
            }
        }
        for (std::size_t t = 0; t < leap.count; ++t) bounds[t] = -0.5f * total[t];
        return quality;
    }

    void start(const WideJoint&) const {}
    VecF score(const WideJoint& sums, const float* step, VecF weight, const WideRegion& region, VecFMask& doubt) const {
        sums.add(step, weight);
        task.activity->set(Activity::evaluating);
        return task.bins_for == nullptr ? score_wide_exact(sums, task, room, doubt)
                                        : score_wide_binned(sums, region, task, room, doubt);
    }

private:
    static void add_up_gradients(const WideJoint& sums, const WideLeap& leap, float* gradients) {
        for (std::size_t k = 0; k < sums.labels; ++k) {
            VecF gradient = load(sums.gradient(k));
            for (std::size_t t = 0; t < kLeap; ++t) {
                gradient += leap.weights[t] * load(leap.steps[t] + kWide * k);
                store(gradients + kWide * (kLeap * k + t)) = gradient;
            }
        }
    }

    // Labels share a bin only if their gradients have the same sign. On a vector with equal scores h for both the form
    // then lacks -2 Gram[i][j] h^2.
    static void find_missed(const WideJoint& sums, const WideLeap& leap, const float* gradients, float* missed) {
        const std::size_t n = sums.labels;
        float* const lowest = missed + kWide * n;
        float* const highest = lowest + kWide * n;
        for (std::size_t k = 0; k < n; ++k) {
            VecF low = load(gradients + kWide * kLeap * k), high = low;
            for (std::size_t t = 1; t < leap.count; ++t) {
                const VecF gradient = load(gradients + kWide * (kLeap * k + t));
                low = minimum(low, gradient);
                high = maximum(high, gradient);
            }
            // A sign that is rounding may be the other one.
            const VecF unsure = 1e-5f * load(sums.additive(k));
            store(lowest + kWide * k) = low - unsure;
            store(highest + kWide * k) = high + unsure;
            store(missed + kWide * k) = VecF{};
        }
        const VecF zero = {};
        for (std::size_t i = 0; i < n; ++i) {
            const VecFMask negative = load(lowest + kWide * i) <= zero, positive = load(highest + kWide * i) >= zero;
            VecF own = {};
            const float* gram = sums.gram(i, i) + kWide;
            for (std::size_t j = i + 1; j < n; ++j, gram += kWide) {
                const VecFMask together = (negative & (load(lowest + kWide * j) <= zero)) |
                                          (positive & (load(highest + kWide * j) >= zero));
                const VecF lost = select(together, maximum(-load(gram), zero), zero);
                own += lost;
                store(missed + kWide * j) += lost;
            }
            store(missed + kWide * i) += own;
        }
    }
};

// One bin per sign, with the paper's aggregation.
template <std::size_t kLength>
struct LeapSigned {
    static constexpr std::size_t kLeap = kLength;
    using Sums = WideSigned;
    using Walked = WideJoint;
    const ScreenTask& task;
    float* room;

    bool attains() const { return true; }

    VecF look_ahead(const WideJoint& sums, const WideRegion& region, const WideLeap& leap, VecF* bounds,
                    VecFMask& doubt) const {
        const std::size_t n = sums.labels;
        float* const gradient = room;
        float* const sign = gradient + kWide * n;
        float* const across = sign + kWide * n;     // by label: the sum of Gram[k][j] times the sign of j
        float* const diagonal = across + kWide * n;
        float* const unsure = diagonal + kWide * n;  // smaller gradients may be rounding
        const auto noise = static_cast<float>(task.noise);
        VecF own[2] = {}, total = {}, sizes = {};
        for (std::size_t k = 0; k < n; ++k) {
            const VecF g = load(sums.gradient(k));
            const VecF d = load(sums.additive(k));
            const VecF a = maximum(d - load(sums.gram(k, k)), VecF{}) + static_cast<float>(task.l2);
            doubt |= (absolute(g) < 1e-5f * d) | (a < kLeastKept * d) | (d < region.least(task, k));
            const VecF counted = select(absolute(g) > broadcast(noise), a, VecF{});
            const VecFMask negative = g < VecF{};
            own[0] += select(negative, counted, VecF{});
            own[1] += select(negative, VecF{}, counted);
            total += g;
            sizes += absolute(g);
            store(gradient + kWide * k) = g;
            store(sign + kWide * k) = select(negative, broadcast(-1.0f), broadcast(1.0f));
            store(across + kWide * k) = VecF{};
            store(diagonal + kWide * k) = counted;
            store(unsure + kWide * k) = 1e-5f * d;
        }
        VecF pairs = {}, signed_pairs = {};
        const float* gram = sums.gram(0, 0);
        for (std::size_t i = 0; i < n; ++i) {
            gram += kWide;
            const VecF own_sign = load(sign + kWide * i);
            VecF row = {};
            for (std::size_t j = i + 1; j < n; ++j, gram += kWide) {
                const VecF element = load(gram);
                pairs += element;
                row += element * load(sign + kWide * j);
                store(across + kWide * j) += element * own_sign;
            }
            signed_pairs += own_sign * row;
            store(across + kWide * i) += row;
        }
        const VecF common = 0.5f * (pairs - signed_pairs);
        const VecF quality = solve(own, common, total, sizes, doubt);
        for (std::size_t t = 0; t < leap.count; ++t) {
            VecFMask flipped = {}, undecided = doubt;
            total = sizes = VecF{};
            for (std::size_t k = 0; k < n; ++k) {
                const VecF g = load(gradient + kWide * k) + leap.weights[t] * load(leap.steps[t] + kWide * k);
                store(gradient + kWide * k) = g;
                total += g;
                sizes += absolute(g);
                flipped |= differ(g, load(sign + kWide * k));
                undecided |= absolute(g) < load(unsure + kWide * k);
            }
            VecF bound;
            if (any(flipped)) {
                bound = solve_flipped(sums, own, common, total, sizes, undecided);
            } else {
                bound = solve(own, common, total, sizes, undecided);
            }
            bounds[t] = select(undecided, broadcast(-__builtin_inff()), bound);
        }
        return quality;
    }

    void start(const WideSigned& sums) const { sums.start(); }
    VecF score(const WideSigned& sums, const float* step, VecF weight, const WideRegion& region, VecFMask& doubt) const {
        const VecF signed_pairs = sums.add_signed(step, weight, room);
        task.activity->set(Activity::evaluating);
        return score_wide_signed(sums, region, signed_pairs, task, doubt);
    }

private:
    // Negative where the signs differ.
    static VecFMask differ(VecF a, VecF b) { return as<VecFMask>(a) ^ as<VecFMask>(b); }

    // The same after some labels, others in each lane, have changed to the bin of the other sign. With s the old signs of
    // these labels F, the common element changes by sum_F s_k across_k - 2 sum_{k < l in F} s_k s_l Gram[k][l]. The last sum
    // is at most (|F| - 1) sum_F Gram[k][k] / 2. Gains are convex in the elements of a system: the worst is at either end.
    VecF solve_flipped(const WideJoint& sums, const VecF (&own)[2], VecF common, VecF total, VecF sizes,
                       VecFMask& doubt) const {
        const std::size_t n = sums.labels;
        const float* const gradient = room;
        const float* const sign = gradient + kWide * n;
        const float* const across = sign + kWide * n;
        const float* const diagonal = across + kWide * n;
        VecF moved = {}, change = {}, flips = {}, squares = {};
        for (std::size_t k = 0; k < n; ++k) {
            const VecF old_sign = load(sign + kWide * k);
            const VecFMask here = differ(load(gradient + kWide * k), old_sign) >> 31;
            const VecF s = select(here, old_sign, VecF{});
            moved += s * load(diagonal + kWide * k);
            change += s * load(across + kWide * k);
            flips += s * s;
            squares += s * s * load(sums.gram(k, k));
        }
        const VecF error = maximum(flips - 1.0f, VecF{}) * squares;
        const VecF changed[2] = {own[0] + moved, own[1] - moved};
        common += change;
        if (!any(error > VecF{})) return solve(changed, common, total, sizes, doubt);
        return minimum(solve(changed, common - error, total, sizes, doubt),
                       solve(changed, common + error, total, sizes, doubt));
    }

    VecF solve(const VecF (&own)[2], VecF common, VecF total, VecF sizes, VecFMask& doubt) const {
        const VecF noise = broadcast(static_cast<float>(task.noise));
        // A label that had no gradient so far is not counted, but the first one in its bin brings the L2 term.
        const VecF l2 = broadcast(static_cast<float>(task.l2));
        const VecF negative = maximum(own[0], l2), positive = maximum(own[1], l2);
        return solve_signed(0.5f * (total - sizes), 0.5f * (total + sizes), negative, positive, common, noise, doubt);
    }
};

// In diagonal form. On a leap a gradient g stays within the sum of the sizes s of what joins, and no Hessian shrinks: one
// bound for all candidates, in which |g| is at most |g + d / 2| + s / 2, with d the sum of what joins.
struct LeapDiagonal {
    static constexpr std::size_t kLeap = kShortLeap;
    using Sums = WideDiagonal;
    using Walked = WideDiagonalLeaps;
    const ScreenTask& task;
    float* room;

    bool attains() const { return true; }

    VecF look_ahead(const WideDiagonalLeaps& sums, const WideRegion& region, const WideLeap& leap, VecF* bounds,
                    VecFMask& doubt) const {
        const WideDiagonalLeaps joining{{sums.labels, leap.sums}};
        const VecF noise = broadcast(static_cast<float>(task.noise));
        WideGain now{task.single}, later{task.single};
        const VecF least = least_hessian(region);
        for (std::size_t k = 0; k < sums.labels; ++k) {
            const VecF g = load(sums.gradient(k));
            const VecF a = maximum(load(sums.hessian(k)), VecF{}) + static_cast<float>(task.l2);
            // A label that is dropped here may count later on.
            const VecFMask usable = a > noise;
            doubt |= (a < least) | ~usable;
            const VecF farthest = absolute(g + 0.5f * load(joining.gradient(k))) + 0.5f * load(joining.size(k));
            now.add(g * g, a, usable);
            later.add(farthest * farthest, a, usable);
        }
        const VecF bound = later.quality();
        for (std::size_t t = 0; t < leap.count; ++t) bounds[t] = bound;
        return now.quality();
    }

    void start(const WideDiagonal&) const {}
    VecF score(const WideDiagonal& sums, const float* step, VecF weight, const WideRegion& region, VecFMask& doubt) const {
        task.activity->set(Activity::evaluating);
        return score_wide_diagonal(sums, step, weight, region, task, doubt);
    }
};

}  // namespace
}  // namespace labelboost
