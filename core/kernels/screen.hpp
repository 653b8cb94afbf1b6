// Approximate qualities of all the splits of a long sorted list of examples, in single precision.
//
// The list is cut into sixteen pieces of equal length, one per vector lane, which are walked side by side: the
// sums of sixteen regions grow in one vector each, so that nothing is ever copied or transposed but the
// gradients themselves (K numbers per example instead of K^2 / 2). A forward walk gives the regions before
// each split, a backward walk those behind it; both only add, so small regions do not suffer from cancellation.
// What single precision cannot decide is given the quality -infinity and left to the exact evaluation, as are
// all candidates that come close to the best.
// Cost per example and direction: a sixteenth of what wide_sums.hpp and wide_scores.hpp say.
#pragma once

#include "wide_scores.hpp"

namespace labelboost {
namespace {

// Stands for the gradients of an example where there is none.
alignas(64) const float kNoRow[kMostScreenLabels] = {};

// So many steps before they are needed the rows of a list are asked for. Always inlined, see LabelRows.
constexpr std::size_t kStepsAhead = 4;

[[gnu::always_inline]] inline void prefetch_row(const float* row, std::size_t labels) {
    for (std::size_t k = 0; k < labels; k += kWide) __builtin_prefetch(row + k, 0, 2);
}

// Sorts the gradients of one example per lane by label: all lanes of a label in one vector.
inline void gather_rows(const float* const* row, std::size_t labels, float* gathered) {
    for (std::size_t first = 0; first < labels; first += kWide) {
        VecF rows[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) rows[lane] = load(row[lane] + first);
        transpose(rows);
        for (std::size_t k = first; k < labels && k < first + kWide; ++k) store(gathered + kWide * k) = rows[k - first];
    }
}

// The same for all examples, by step and label. wanted: per step, whether any lane has a split there.
inline void gather_steps(const ScreenTask& task, std::size_t steps, float* gathered, float* weights, float* wanted) {
    for (std::size_t s = 0; s < steps; ++s) {
        const float* row[kWide];
        float any = 0.0f;
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            const std::size_t place = lane * steps + s;
            row[lane] = place < task.count ? task.rows[place] : kNoRow;
            weights[kWide * s + lane] = place < task.count ? task.weights[place] : 0.0f;
            if (place < task.count && task.wanted[place] != 0) any = 1.0f;
            const std::size_t later = place + kStepsAhead;
            if (task.far && s + kStepsAhead < steps && later < task.count) prefetch_row(task.rows[later], task.labels);
        }
        wanted[s] = any;
        gather_rows(row, task.labels, gathered + kWide * s * task.labels);
    }
}

// What lies before and behind the first example of each lane, from the sums of all lanes.
struct LaneStarts {
    VecF before, behind;
    double before_next;  // up to the end of the last lane

    // Lanes are only added up; what is behind them all is found by subtraction from the total of all there is.
    LaneStarts(VecF own, double before_first, double total) {
        const VecF up_to = running_sums(own);
        before = shift_up<1>(up_to) + static_cast<float>(before_first);
        before_next = before_first + static_cast<double>(up_to[kWide - 1]);
        behind = shift_down<1>(reverse_running_sums(own)) + static_cast<float>(total - before_next);
    }
};

// `forward` holds the sums of all lanes, and receives those before the first example of each; `backward` those behind.
template <typename Sums>
inline void fill_lane_starts(const ScreenTask& task, const Sums& forward, const Sums& backward) {
    Sums::for_each(forward.labels, [&](std::size_t e, std::size_t place) {
        const LaneStarts starts(load(forward.values + kWide * e), task.before[place], task.total[place]);
        store(forward.values + kWide * e) = starts.before;
        store(backward.values + kWide * e) = starts.behind;
        task.before[place] = starts.before_next;
    });
}

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
    fill_lane_starts(task, forward, backward);
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
        store(target + kWide * s) = unless_in_doubt(quality, doubt);
        task.activity->set(Activity::summing);
    };
    VecF region = weight_starts.before;
    for (std::size_t s = 0; s < steps; ++s) {
        const VecF weight = load(weights + kWide * s);
        region += weight;
        advance(forward, gathered + kWide * n * s, weight, {region, VecFMask{}}, VecFMask{}, s, first);
    }
    // What lies behind the last example of a lane is complete already. It was found by subtraction, so that of a small
    // region near the end of a long list few digits are right.
    const VecF least = broadcast(static_cast<float>(kLeastShare * task.total_weight));
    region = weight_starts.behind;
    for (std::size_t s = steps; s-- > 0;) {
        const std::size_t last = s + 1 < steps ? s + 1 : s;
        const VecF weight = s + 1 < steps ? load(weights + kWide * last) : VecF{};
        region += weight;
        advance(backward, gathered + kWide * n * last, weight, {region, ~VecFMask{}}, region < least, s, rest);
    }
}

void screen_joint(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideJoint>(
        task, scratch, first, rest, [](const WideJoint&) {},
        [&](const WideJoint& sums, const float* step, VecF weight, const WideRegion& region, float* room,
            VecFMask& doubt) {
            sums.add(step, weight);
            task.activity->set(Activity::evaluating);
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
            task.activity->set(Activity::evaluating);
            return score_wide_signed(sums, region, signed_pairs, task, doubt);
        });
}

void screen_diagonal(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideDiagonal>(
        task, scratch, first, rest, [](const WideDiagonal&) {},
        [&](const WideDiagonal& sums, const float* step, VecF weight, const WideRegion& region, float*,
            VecFMask& doubt) {
            task.activity->set(Activity::evaluating);
            return score_wide_diagonal(sums, step, weight, region, task, doubt);
        });
}

}  // namespace
}  // namespace labelboost
