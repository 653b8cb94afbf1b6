// The same as screen.hpp for the sides of splits that must beat what is known already: few candidates do, and most of
// them can be told from their neighbours.
//
// The lanes are walked in leaps of eight examples, or of sixteen where lists are long or labels many. From the sums where a
// leap begins, bounds follow for all candidates on the way: the region only grows, each example adds a positive semidefinite
// matrix, and so the gain with the new gradients but the old matrix is never too low. Only the lanes of leaps with a bound
// that reaches what is known wait to be looked at more closely, sixteen of them at a time, whichever feature they come from.
//
// Of short lists several are walked along at once, with four lanes each instead of sixteen: finding out where lanes begin
// takes as long as adding up a hundred examples.
//
// Cost per example in vector operations, a sixteenth of: K^2 / 2 multiply-adds for the sums of a leap, in registers; in
// either direction a system per leap and K^2 / 2 per example, or 8 K with one bin per sign. In diagonal form 7 K per example
// and 15 K per leap in either direction.
#pragma once

#include "leap_bounds.hpp"
#include "screen.hpp"

namespace labelboost {
namespace {

// Scores the regions that wait, and notes what may be the best candidate.
template <typename Method>
inline void look_closely(const ScreenTask& task, LeapState& state, float* scratch) {
    ScreenTask closer = task;
    closer.total = state.total;
    const std::size_t n = task.labels;
    float* const step = scratch;
    const Method method{closer, step + kWide * n};
    const typename Method::Sums sums{n, state.sums};
    std::size_t longest = 0;
    alignas(kVectorBytes) float regions[kWide] = {}, leasts[kWide] = {};
    for (std::size_t lane = 0; lane < state.waiting; ++lane) {
        LeapState::Lane& own = state.lanes[lane];
        // Other regions may have reached more since: nothing needs to be added up behind the last candidate that is left.
        while (own.count > 0 && !state.is_open(own, own.count - 1)) --own.count;
        if (own.count > longest) longest = own.count;
        regions[lane] = own.region;
        leasts[lane] = own.least;
    }
    VecF region = load(regions);
    const VecF least = load(leasts);
    const VecFMask by_subtraction = least > VecF{};
    if (longest > 0) method.start(sums);
    for (std::size_t t = 0; t < longest; ++t) {
        const float* rows[kWide];
        for (const float*& row : rows) row = kNoRow;
        alignas(kVectorBytes) float weights[kWide] = {};
        bool any_open = false;
        for (std::size_t lane = 0; lane < state.waiting; ++lane) {
            const LeapState::Lane& own = state.lanes[lane];
            if (t >= own.count) continue;
            rows[lane] = own.rows[t];
            weights[lane] = own.weights[t];
            any_open = any_open || state.is_open(own, t);
        }
        gather_rows(rows, n, step);
        const VecF weight = load(weights);
        region += weight;
        if (!any_open) {
            sums.add(step, weight);
            continue;
        }
        VecFMask doubt = region < least;
        const VecF quality = method.score(sums, step, weight, {region, by_subtraction}, doubt);
        task.activity->set(Activity::summing);
        const VecF decided = unless_in_doubt(quality, doubt);
        for (std::size_t lane = 0; lane < state.waiting; ++lane) {
            const LeapState::Lane& own = state.lanes[lane];
            if (t >= own.count || !state.is_open(own, t)) continue;
            const float found = decided[lane];
            if (found > state.limit()) continue;
            state.findings[state.found++] = {own.feature, own.slots[t], found};
            if (found < state.reached && found > -__builtin_inff()) state.reached = found;
        }
    }
    state.waiting = 0;
}

// What lies before and behind the first example of each lane if four lanes are a list of their own, with nothing before.
struct ShortLaneStarts {
    VecF before, behind;

    ShortLaneStarts(VecF own, double total) {
        const VecF up_to = running_sums_in_groups(own);
        before = shift_up_in_groups(up_to);
        behind = shift_down_in_groups(reverse_running_sums_in_groups(own)) +
                 (broadcast(static_cast<float>(total)) - last_of_groups(up_to));
    }
};

// One block of examples, or several short lists, walked along in both directions.
template <typename Method>
class LeapWalk {
    using Walked = typename Method::Walked;
    static constexpr std::size_t kLeap = Method::kLeap;

public:
    LeapWalk(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch)
        : lists_(lists),
          task_(lists[0]),
          state_(state),
          labels_(task_.labels),
          lanes_(kWide / count),
          steps_(longest(lists, count, lanes_)),
          leaps_((steps_ + kLeap - 1) / kLeap),
          size_(kWide * Walked::vectors(labels_)),
          gathered_(scratch),
          weights_(gathered_ + kWide * labels_ * steps_),
          wanted_{weights_ + kWide * steps_, weights_ + 2 * kWide * steps_},
          of_leaps_(wanted_[1] + kWide * steps_),
          room_(of_leaps_ + size_ * (leaps_ + 2)),
          sums_{sums_at(leaps_), sums_at(leaps_ + 1)} {}

    void run() {
        gather();
        VecF lane_weight = {};
        for (std::size_t s = 0; s < steps_; ++s) lane_weight += load(weights_ + kWide * s);
        sum_up_leaps();
        if (lanes_ < kWide) {
            const ShortLaneStarts weight_starts(lane_weight, task_.total_weight);
            fill_short_lane_starts();
            walk(false, weight_starts.before);
            walk(true, weight_starts.behind);
            return;
        }
        const LaneStarts weight_starts(lane_weight, *task_.weight_before, task_.total_weight);
        *task_.weight_before = weight_starts.before_next;
        fill_lane_starts(task_, sums_[0], sums_[1]);
        walk(false, weight_starts.before);
        walk(true, weight_starts.behind);
    }

private:
    static std::size_t longest(const ScreenTask* lists, std::size_t count, std::size_t lanes) {
        std::size_t steps = 0;
        for (std::size_t l = 0; l < count; ++l) {
            const std::size_t own = (lists[l].count + lanes - 1) / lanes;
            if (own > steps) steps = own;
        }
        return steps;
    }

    // Those of a leap or, behind them all, of the regions before and behind.
    Walked sums_at(std::size_t number) const {
        Walked sums;
        sums.labels = labels_;
        sums.values = of_leaps_ + size_ * number;
        return sums;
    }
    const ScreenTask& list(std::size_t lane) const { return lists_[lane / lanes_]; }
    // Where a step of a lane stands in its list.
    std::size_t place(std::size_t lane, std::size_t step) const { return lane % lanes_ * steps_ + step; }

    void fill_short_lane_starts() const {
        Walked::for_each(labels_, [&](std::size_t e, std::size_t at) {
            const ShortLaneStarts starts(load(sums_[0].values + kWide * e), task_.total[at]);
            store(sums_[0].values + kWide * e) = starts.before;
            store(sums_[1].values + kWide * e) = starts.behind;
        });
    }

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
    static bool is_candidate(const ScreenTask& list, std::size_t place, bool back) {
        return place < list.count && (list.wanted[place] & (back ? 2U : 1U)) != 0;
    }

    void gather() {
        constexpr float kSides[2][4] = {{0.0f, 1.0f, 0.0f, 1.0f}, {0.0f, 0.0f, 1.0f, 1.0f}};
        const float* rows[kScreenBlock];  // by step
        unsigned wanted_sides = 0;
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            const ScreenTask& own = list(lane);
            const std::size_t begin = place(lane, 0), left = begin < own.count ? own.count - begin : 0;
            const std::size_t there = left < steps_ ? left : steps_;
            for (std::size_t s = 0; s < there; ++s) {
                const std::size_t at = kWide * s + lane;
                const std::uint8_t sides = own.wanted[begin + s];
                rows[at] = own.rows[begin + s];
                weights_[at] = own.weights[begin + s];
                wanted_[0][at] = kSides[0][sides];
                wanted_[1][at] = kSides[1][sides];
                wanted_sides |= sides;
            }
            for (std::size_t s = there; s < steps_; ++s) {
                const std::size_t at = kWide * s + lane;
                rows[at] = kNoRow;
                weights_[at] = wanted_[0][at] = wanted_[1][at] = 0.0f;
            }
        }
        wanted_sides_ = wanted_sides;
        for (std::size_t s = 0; s < steps_; ++s) {
            if (task_.far && s + kStepsAhead < steps_) {
                for (std::size_t lane = 0; lane < kWide; ++lane) {
                    prefetch_row(rows[kWide * (s + kStepsAhead) + lane], labels_);
                }
            }
            gather_rows(rows + kWide * s, labels_, gathered_ + kWide * labels_ * s);
        }
    }

    // The sums of each leap, and of all of them.
    void sum_up_leaps() const {
        for (std::size_t l = 0; l < leaps_; ++l) {
            const Leap own = leap(l, false);
            sums_at(l).sum_up(gathered_ + kWide * labels_ * own.first, weights_ + kWide * own.first, own.count, room_);
        }
        for (std::size_t e = 0; e < size_; e += kWide) {
            VecF total = load(of_leaps_ + e);
            for (std::size_t l = 1; l < leaps_; ++l) total += load(of_leaps_ + size_ * l + e);
            store(sums_[0].values + e) = total;
        }
    }

    void walk(bool back, VecF region) {
        if ((wanted_sides_ & (back ? 2U : 1U)) == 0) return;
        const Walked& sums = sums_[back ? 1 : 0];
        for (std::size_t number = 0; number < leaps_; ++number) {
            const std::size_t l = back ? leaps_ - 1 - number : number;
            look_ahead(sums, region, leap(l, back), of_leaps_ + size_ * l);
            if (number + 1 == leaps_) return;
            sums.add_sums(of_leaps_ + size_ * l);
            const Leap passed = leap(l, back);
            for (std::size_t s = 0; s < passed.count; ++s) region += load(weights_ + kWide * (passed.first + s));
        }
    }

    void look_ahead(const Walked& sums, VecF region, const Leap& leap, float* of_leap) {
        WideLeap ahead;
        ahead.count = leap.count;
        ahead.sums = of_leap;
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
            const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
            wait(sums, lane, region, least, leap, doubt[lane] != 0 ? nullptr : bounds);
            if (state_.waiting == kWide) look_closely<Method>(task_, state_, room_);
        }
    }

    // The region where a leap begins may be a candidate itself.
    void note_reached(VecF quality, VecFMask doubt, const Leap& leap) const {
        const VecF lowest = broadcast(-__builtin_inff());
        const unsigned better = negative_bits((quality < broadcast(state_.reached)) & (quality > lowest) & ~doubt);
        for (unsigned lanes = better; lanes != 0; lanes &= lanes - 1) {
            const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
            const std::size_t end = place(lane, leap.first + (leap.back ? leap.count : 0));
            if (end == 0 || !is_candidate(list(lane), end - 1, leap.back)) continue;
            if (quality[lane] < state_.reached) state_.reached = quality[lane];
        }
    }

    // bounds: null if there are none for this lane.
    void wait(const Walked& sums, std::size_t lane, VecF region, float least, const Leap& leap,
              const VecF* bounds) const {
        LeapState::Lane& own = state_.lanes[state_.waiting];
        const ScreenTask& from = list(lane);
        for (std::size_t e = 0; e < size_; e += kWide) state_.sums[e + state_.waiting] = sums.values[e + lane];
        own.feature = from.feature;
        own.count = leap.count;
        own.region = region[lane];
        own.least = least;
        for (std::size_t t = 0; t < leap.count; ++t) {
            const std::size_t joining = place(lane, leap.joining(t));
            const std::size_t candidate = place(lane, leap.candidate(t));
            const bool joins = leap.joins(t) && joining < from.count;
            own.rows[t] = joins ? from.rows[joining] : kNoRow;
            own.weights[t] = joins ? from.weights[joining] : 0.0f;
            own.wanted[t] = is_candidate(from, candidate, leap.back);
            own.bounds[t] = bounds != nullptr ? bounds[t][lane] : -__builtin_inff();
            own.slots[t] = own.wanted[t] ? from.slots[candidate] ^ (leap.back ? 1U : 0U) : 0;
        }
        ++state_.waiting;
    }

    const ScreenTask* const lists_;
    const ScreenTask& task_;  // what they have in common
    LeapState& state_;
    const std::size_t labels_;
    const std::size_t lanes_;  // per list
    const std::size_t steps_, leaps_, size_;
    float* const gathered_;    // by step and label
    float* const weights_;     // by step
    float* const wanted_[2];   // by step; not 0: before, or behind, the example is a candidate
    unsigned wanted_sides_ = 0;  // 1 or 2 or both: there are such steps
    float* const of_leaps_;    // the sums of each leap
    float* const room_;
    const Walked sums_[2];     // of the regions before and behind
};

// Systems take the longer to solve the more labels there are, and regions grow the less on a leap the longer their list is.
inline bool long_leaps_pay(const ScreenTask* lists, std::size_t count) {
    constexpr std::size_t kManyLabels = 24, kManyExamples = 768;
    return lists[0].labels >= kManyLabels || (count == 1 && lists[0].count >= kManyExamples);
}

template <typename Short, typename Long>
inline void leap_along(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch) {
    if (lists[0].count == 0) {
        if (state.waiting > 0) look_closely<Short>(lists[0], state, scratch);
    } else if (Short::kLeap != Long::kLeap && long_leaps_pay(lists, count)) {
        LeapWalk<Long>(lists, count, state, scratch).run();
    } else {
        LeapWalk<Short>(lists, count, state, scratch).run();
    }
}

void leap_joint(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch) {
    leap_along<LeapJoint<kShortLeap>, LeapJoint<kLongLeap>>(lists, count, state, scratch);
}

void leap_signed(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch) {
    leap_along<LeapSigned<kShortLeap>, LeapSigned<kLongLeap>>(lists, count, state, scratch);
}

// Its bounds are the same for a whole leap, and longer ones too loose.
void leap_diagonal(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch) {
    leap_along<LeapDiagonal, LeapDiagonal>(lists, count, state, scratch);
}

}  // namespace
}  // namespace labelboost
