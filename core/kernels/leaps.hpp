// The same as screen.hpp for the sides of splits that must beat what is known already: few candidates do, and most of
// them can be told from their neighbours.
//
// The lanes are walked in leaps of kLeap examples. From the sums where a leap begins, bounds follow for all candidates on
// the way: the region only grows, each example adds a positive semidefinite matrix, and so the gain with the new
// gradients but the old matrix is never too low. Only the lanes of leaps with a bound that reaches what is known wait to be
// looked at more closely, sixteen of them at a time, whichever feature they come from.
//
// Without label bins the matrix is that of the whole system. With the bins of any region the quadratic form of a system
// that is aggregated exactly is the same on fewer vectors. The paper's aggregation leaves out the elements between labels
// of a bin: what that may take away from the form is subtracted from the diagonal. With one bin per sign the system has
// two unknowns, and it is formed anew where a gradient changes its sign.
//
// Cost per example in vector operations, a sixteenth of: K^2 / 2 multiply-adds for the sums of a leap, in registers; in
// either direction a system per leap and K^2 / 2 per example, or 8 K with one bin per sign.
#pragma once

#include "screen.hpp"

namespace labelboost {
namespace {

// The examples that join sixteen regions on a leap, in their order; those behind `count` have no weight.
struct WideLeap {
    const float* steps[kLeap];
    VecF weights[kLeap];
    std::size_t count;
};

// For complete heads without label bins or with several of them per sign.
struct LeapJoint {
    using Sums = WideJoint;
    const ScreenTask& task;
    float* room;  // leap_room_size

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
struct LeapSigned {
    using Sums = WideSigned;
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
    static VecFMask differ(VecF a, VecF b) { return reinterpret_cast<VecFMask>(a) ^ reinterpret_cast<VecFMask>(b); }

    // The same after some labels, others in each lane, have changed to the bin of the other sign. With s the old signs of
    // these labels F, the common element changes by sum_F s_k across_k - 2 sum_{k < l in F} s_k s_l Gram[k][l]. The last sum
    // is at most (|F| - 1) sum_F Gram[k][k] / 2. Gains are convex in the elements of a system, so the worst is at either end.
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

// Scores the regions that wait, and notes what may be the best candidate.
template <typename Method>
inline void look_closely(const ScreenTask& task, LeapState& state, float* scratch) {
    ScreenTask closer = task;
    closer.total = state.total;
    const std::size_t n = task.labels;
    float* const step = scratch;
    const Method method{closer, step + kWide * n};
    const typename Method::Sums sums{n, state.sums};
    method.start(sums);
    std::size_t longest = 0;
    VecF region = {}, least = {};
    VecFMask by_subtraction = {};
    for (std::size_t lane = 0; lane < state.waiting; ++lane) {
        const LeapState::Lane& own = state.lanes[lane];
        if (own.count > longest) longest = own.count;
        region[lane] = own.region;
        least[lane] = own.least;
        by_subtraction[lane] = own.least > 0.0f ? -1 : 0;
    }
    for (std::size_t t = 0; t < longest; ++t) {
        const float* rows[kWide];
        for (const float*& row : rows) row = kNoRow;
        VecF weight = {};
        bool any_wanted = false;
        for (std::size_t lane = 0; lane < state.waiting; ++lane) {
            const LeapState::Lane& own = state.lanes[lane];
            if (t >= own.count) continue;
            rows[lane] = own.rows[t];
            weight[lane] = own.weights[t];
            any_wanted = any_wanted || own.wanted[t];
        }
        gather_rows(rows, n, step);
        region += weight;
        if (!any_wanted) {
            sums.add(step, weight);
            continue;
        }
        VecFMask doubt = region < least;
        const VecF quality = method.score(sums, step, weight, {region, by_subtraction}, doubt);
        task.activity->set(Activity::summing);
        const VecF decided = unless_in_doubt(quality, doubt);
        for (std::size_t lane = 0; lane < state.waiting; ++lane) {
            const LeapState::Lane& own = state.lanes[lane];
            if (t >= own.count || !own.wanted[t]) continue;
            const float found = decided[lane];
            if (found > state.limit()) continue;
            state.findings[state.found++] = {own.feature, own.slots[t], found};
            if (found < state.reached && found > -__builtin_inff()) state.reached = found;
        }
    }
    state.waiting = 0;
}

// One block of examples, walked along in both directions.
template <typename Method>
class LeapWalk {
public:
    LeapWalk(const ScreenTask& task, LeapState& state, float* scratch)
        : task_(task),
          state_(state),
          labels_(task.labels),
          steps_(screen_steps(task.count)),
          leaps_((steps_ + kLeap - 1) / kLeap),
          size_(kWide * WideJoint::vectors(labels_)),
          gathered_(scratch),
          weights_(gathered_ + kWide * labels_ * steps_),
          wanted_{weights_ + kWide * steps_, weights_ + 2 * kWide * steps_},
          of_leaps_(wanted_[1] + kWide * steps_),
          room_(of_leaps_ + size_ * (leaps_ + 2)),
          sums_{{labels_, of_leaps_ + size_ * leaps_}, {labels_, of_leaps_ + size_ * (leaps_ + 1)}} {}

    void run() {
        gather();
        VecF lane_weight = {};
        for (std::size_t s = 0; s < steps_; ++s) lane_weight += load(weights_ + kWide * s);
        const LaneStarts weight_starts(lane_weight, *task_.weight_before, task_.total_weight);
        *task_.weight_before = weight_starts.before_next;
        sum_up_leaps();
        fill_lane_starts(task_, sums_[0], sums_[1]);
        walk(false, weight_starts.before);
        walk(true, weight_starts.behind);
    }

private:
    // The steps of a leap. Forwards, an example joins before the candidate that ends with it; backwards, behind it.
    struct Leap {
        std::size_t first, count;
        bool back;

        std::size_t candidate(std::size_t t) const { return back ? first + count - 1 - t : first + t; }
        bool joins(std::size_t t) const { return !back || t > 0; }
        std::size_t joining(std::size_t t) const { return back ? first + count - t : first + t; }
    };

    Leap leap(std::size_t number, bool back) const {
        const std::size_t first = number * kLeap;
        return {first, steps_ - first < kLeap ? steps_ - first : kLeap, back};
    }
    bool is_candidate(std::size_t place, bool back) const {
        return place < task_.count && (task_.wanted[place] & (back ? 2U : 1U)) != 0;
    }

    void gather() const {
        for (std::size_t s = 0; s < steps_; ++s) {
            const float* rows[kWide];
            for (std::size_t lane = 0; lane < kWide; ++lane) {
                const std::size_t place = lane * steps_ + s;
                const bool there = place < task_.count;
                const unsigned sides = there ? task_.wanted[place] : 0U;
                rows[lane] = there ? task_.rows[place] : kNoRow;
                weights_[kWide * s + lane] = there ? task_.weights[place] : 0.0f;
                wanted_[0][kWide * s + lane] = static_cast<float>(sides & 1U);
                wanted_[1][kWide * s + lane] = static_cast<float>(sides & 2U);
            }
            gather_rows(rows, labels_, gathered_ + kWide * labels_ * s);
        }
    }

    // The sums of each leap, and of all of them.
    void sum_up_leaps() const {
        for (std::size_t l = 0; l < leaps_; ++l) {
            const Leap own = leap(l, false);
            const WideJoint sums{labels_, of_leaps_ + size_ * l};
            sums.sum_up(gathered_ + kWide * labels_ * own.first, weights_ + kWide * own.first, own.count, room_);
        }
        for (std::size_t e = 0; e < size_; e += kWide) {
            VecF total = load(of_leaps_ + e);
            for (std::size_t l = 1; l < leaps_; ++l) total += load(of_leaps_ + size_ * l + e);
            store(sums_[0].values + e) = total;
        }
    }

    void walk(bool back, VecF region) {
        const WideJoint& sums = sums_[back ? 1 : 0];
        for (std::size_t number = 0; number < leaps_; ++number) {
            const std::size_t l = back ? leaps_ - 1 - number : number;
            look_ahead(sums, region, leap(l, back));
            if (number + 1 == leaps_) return;
            sums.add_sums(of_leaps_ + size_ * l);
            const Leap passed = leap(l, back);
            for (std::size_t s = 0; s < passed.count; ++s) region += load(weights_ + kWide * (passed.first + s));
        }
    }

    void look_ahead(const WideJoint& sums, VecF region, const Leap& leap) {
        WideLeap ahead;
        ahead.count = leap.count;
        VecF wanted[kLeap];
        VecFMask any_wanted = {};
        for (std::size_t t = 0; t < kLeap; ++t) {
            const bool joins = t < leap.count && leap.joins(t);
            ahead.steps[t] = joins ? gathered_ + kWide * labels_ * leap.joining(t) : gathered_;
            ahead.weights[t] = joins ? load(weights_ + kWide * leap.joining(t)) : VecF{};
            wanted[t] = t < leap.count ? load(wanted_[leap.back ? 1 : 0] + kWide * leap.candidate(t)) : VecF{};
            any_wanted |= wanted[t] > VecF{};
        }
        if (!any(any_wanted)) return;
        // What lies behind the last example of a lane was found by subtraction, so that of a small region near the end of a
        // long list few digits are right.
        const float least = leap.back ? static_cast<float>(kLeastShare * task_.total_weight) : 0.0f;
        VecFMask doubt = region < broadcast(least);
        VecF bounds[kLeap];
        task_.activity->set(Activity::evaluating);
        const Method method{task_, room_};
        const WideRegion origin{region, leap.back ? ~VecFMask{} : VecFMask{}};
        const VecF quality = method.look_ahead(sums, origin, ahead, bounds, doubt);
        task_.activity->set(Activity::summing);
        if (method.attains()) note_reached(quality, doubt, leap);
        VecFMask open = {};
        const VecF limit = broadcast(state_.limit());
        for (std::size_t t = 0; t < leap.count; ++t) open |= (wanted[t] > VecF{}) & (~(bounds[t] > limit) | doubt);
        for (unsigned lanes = negative_bits(open); lanes != 0; lanes &= lanes - 1) {
            wait(sums, static_cast<std::size_t>(__builtin_ctz(lanes)), region, least, leap);
            if (state_.waiting == kWide) look_closely<Method>(task_, state_, room_);
        }
    }

    // The region where a leap begins may be a candidate itself.
    void note_reached(VecF quality, VecFMask doubt, const Leap& leap) const {
        const VecF lowest = broadcast(-__builtin_inff());
        const unsigned better = negative_bits((quality < broadcast(state_.reached)) & (quality > lowest) & ~doubt);
        for (unsigned lanes = better; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
            const std::size_t end = lane * steps_ + leap.first + (leap.back ? leap.count : 0);
            if (end == 0 || !is_candidate(end - 1, leap.back)) continue;
            if (quality[lane] < state_.reached) state_.reached = quality[lane];
        }
    }

    void wait(const WideJoint& sums, std::size_t lane, VecF region, float least, const Leap& leap) const {
        LeapState::Lane& own = state_.lanes[state_.waiting];
        for (std::size_t e = 0; e < size_; e += kWide) state_.sums[e + state_.waiting] = sums.values[e + lane];
        own.feature = task_.feature;
        own.count = leap.count;
        own.region = region[lane];
        own.least = least;
        for (std::size_t t = 0; t < leap.count; ++t) {
            const std::size_t joining = lane * steps_ + leap.joining(t);
            const std::size_t candidate = lane * steps_ + leap.candidate(t);
            const bool joins = leap.joins(t) && joining < task_.count;
            own.rows[t] = joins ? task_.rows[joining] : kNoRow;
            own.weights[t] = joins ? task_.weights[joining] : 0.0f;
            own.wanted[t] = is_candidate(candidate, leap.back);
            own.slots[t] = own.wanted[t] ? task_.slots[candidate] ^ (leap.back ? 1U : 0U) : 0;
        }
        ++state_.waiting;
    }

    const ScreenTask& task_;
    LeapState& state_;
    const std::size_t labels_, steps_, leaps_, size_;
    float* const gathered_;    // by step and label
    float* const weights_;     // by step
    float* const wanted_[2];   // by step; not 0: before, or behind, the example is a candidate
    float* const of_leaps_;    // the sums of each leap
    float* const room_;
    const WideJoint sums_[2];  // of the regions before and behind
};

template <typename Method>
inline void leap_along(const ScreenTask& task, LeapState& state, float* scratch) {
    if (task.count > 0) {
        LeapWalk<Method>(task, state, scratch).run();
    } else if (state.waiting > 0) {
        look_closely<Method>(task, state, scratch);
    }
}

void leap_joint(const ScreenTask& task, LeapState& state, float* scratch) { leap_along<LeapJoint>(task, state, scratch); }

void leap_signed(const ScreenTask& task, LeapState& state, float* scratch) { leap_along<LeapSigned>(task, state, scratch); }

}  // namespace
}  // namespace labelboost
