// Candidates that have bounds: from O(K) sums for each of them first, and then to all digits for the few that may be the
// best, the most promising ones first. See bounds.hpp and find_candidates in search.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search.hpp"

namespace labelboost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void Search::bound(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs,
                   FeatureCandidates& out) const {
    ProfileWalk& walk = scratch.walk;
    out.optimistic.assign(out.quality.size(), kInfinity);
    const ActivityScope summing(scratch.activity, Activity::summing);
    const bool heads_pay = settings_.binned_candidates() && one_by_one_pays(*scratch.listing);
    const auto note = [&](const CandidatePair& pair, Side side) {
        if ((side == Side::rest ? pair.rest_count : pair.part_count) < least_coverage()) return;
        GainBounds gain = side == Side::rest ? walk.rest_bounds() : walk.part_bounds();
        if (heads_pay && -gain.upper <= (1.0 - kBoundMargin) * std::min(task.incumbent.worst, out.attained)) {
            const GainBounds closer = try_head(task, scratch, side);
            gain = {closer.lower, std::min(gain.upper, closer.upper), closer.at_head};
        }
        out.optimistic[slot(pair, side)] = optimistic_quality(gain);
        if (-gain.lower < out.attained) out.attained = -gain.lower;
    };
    constexpr std::size_t kSegments = 16, kFewestPairs = 16, kFewestKept = 12;
    const bool keeps_last = scratch.listing->pairs().size() == 1 && !settings_.binned_candidates();
    const std::size_t length = std::max(scratch.listing->pairs().size() / kSegments, kFewestPairs);
    for (const CandidatePair& pair : pairs) {
        const auto number = static_cast<std::size_t>(&pair - scratch.listing->pairs().data());
        if (number % length == 0 || &pair == pairs.data()) {
            out.checkpoints.push_back({number, pair.starts_anew ? AlignedVector{} : walk.part_profile_copy()});
        }
        walk.advance(pair);
        const ActivityScope evaluating(scratch.activity, Activity::evaluating);
        note(pair, Side::rest);  // first, as what it attains spares the part a closer look
        note(pair, Side::part);
        // Most features of texts have one pair: who takes a closer look at it need not add it up again, if that is long.
        const double best = std::min(out.optimistic[pair.part_slot], out.optimistic[pair.rest_slot()]);
        if (keeps_last && walk.part().size() >= kFewestKept && best <= (1.0 - kBoundMargin) * task.incumbent.worst) {
            out.checkpoints.back() = {number, walk.part_profile_copy(), true};
        }
        const std::size_t added = pair.added_end - pair.added_begin;
        count_work(scratch, static_cast<double>(added * form_.labels), task.interrupt);
    }
}

void Search::find_segments(const Task& task, std::size_t place, Side side, double limit, const FeatureCandidates& feature,
                           std::vector<Segment>& out) const {
    static const FeatureCandidates::Checkpoint start{0, {}};
    if (!task.kept.possible) {
        double best = kInfinity;  // of none, if all values are the same
        for (const double quality : feature.optimistic) best = std::min(best, quality);
        if (best <= limit) out.push_back({side, place, 0, std::numeric_limits<std::size_t>::max(), &start, best});
        return;
    }
    if (feature.checkpoints.empty()) return;  // not bounded, and perhaps not even listed
    const std::vector<CandidatePair>& pairs = task.kept.of_place[place]->pairs();
    for (std::size_t c = 0; c < feature.checkpoints.size(); ++c) {
        const std::size_t begin = feature.checkpoints[c].pair;
        const std::size_t end = c + 1 < feature.checkpoints.size() ? feature.checkpoints[c + 1].pair : pairs.size();
        double best = kInfinity;
        for (std::size_t p = begin; p < end; ++p) best = std::min(best, feature.optimistic[slot(pairs[p], side)]);
        if (best <= limit) out.push_back({side, place, begin, end, &feature.checkpoints[c], best});
    }
}

// visit(segment, scratch), for each of them that may have the best candidate, with its listing.
template <typename Visit>
void Search::run_segments(const Task& task, const std::vector<Place>& places, const std::atomic<double>& reached,
                          std::vector<Segment>& segments, const Visit& visit) {
    // The most promising ones first: what they reach spares others a closer look. Rests are the better ones as a rule.
    std::stable_sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
        return std::pair(a.side == Side::part, a.optimistic) < std::pair(b.side == Side::part, b.optimistic);
    });
    pool_.run(segments.size(), task.interrupt, [&](std::size_t number, std::size_t thread) {
        Segment& segment = segments[number];
        if (!(segment.optimistic <= (1.0 - kBoundMargin) * reached)) return;
        Scratch& scratch = scratch_for(places, segment.place, thread);
        list(task, column(places[segment.place]), scratch);
        visit(segment, scratch);
    }, Deal::in_turn);
}

// visit(slot), for each candidate of a segment that may be the best: scratch.reached is what it is compared with, and is
// lowered if more is reached.
template <typename Visit>
void Search::walk_segment(const Task& task, const Segment& segment, Scratch& scratch, std::atomic<double>& reached,
                          const FeatureCandidates& feature, const Visit& visit) const {
    const ActivityScope summing(scratch.activity, Activity::summing);
    const std::vector<CandidatePair>& pairs = scratch.listing->pairs();
    scratch.walk.start(task.gradients, task.coverage.weights, *scratch.listing, anchor_);
    scratch.walk.resume(segment.from->profile);
    for (std::size_t p = segment.begin; p < std::min(segment.end, pairs.size()); ++p) {
        if (segment.from->with_pair) {
            scratch.walk.set_pair(pairs[p]);
        } else {
            scratch.walk.advance(pairs[p]);
        }
        scratch.reached = reached.load(std::memory_order_relaxed);
        const std::uint32_t own = slot(pairs[p], segment.side);
        if (!(feature.optimistic[own] <= (1.0 - kBoundMargin) * scratch.reached)) continue;
        visit(own);
        lower(reached, scratch.reached);
        count_work(scratch, static_cast<double>(scratch.walk.part().size() * form_.size()), task.interrupt);
    }
}

void Search::screen_bounded(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                            std::vector<FeatureCandidates>& candidates) {
    const double reached = reach(task, candidates);
    const double limit = (1.0 - kBoundMargin) * reached;
    portions_.clear();
    for (const std::size_t i : order) {
        FeatureCandidates& feature = candidates[i];
        if (feature.walkable == 0) continue;
        for (double& quality : feature.optimistic) quality = quality <= limit ? quality : kInfinity;
        const auto ruled_out = std::ranges::count(feature.optimistic, kInfinity);
        const std::size_t left = feature.optimistic.size() - static_cast<std::size_t>(ruled_out);
        if (Screening::leaps_pay(form_.labels, feature.walkable, left)) portions_.push_back({i, feature.walkable});
    }
    if (portions_.empty()) return;
    for (Scratch& scratch : scratch_) scratch.screening.set_reached(static_cast<float>(reached));
    cut(portions_, true);
    const auto screen_part = [&](std::size_t number, std::size_t thread) {
        const Part& part = parts_[number];
        Scratch& scratch = scratch_for(places, part.place, thread);
        list(task, column(places[part.place]), scratch, part.piece);
        screen(task, scratch, part.piece, candidates[part.place]);
    };
    const auto finish = [&](std::size_t thread) { finish_scan(task, scratch_[thread]); };
    pool_.run(parts_.size(), task.interrupt, screen_part, finish, Deal::in_turn);
    for (const Portion& portion : portions_) {
        FeatureCandidates& feature = candidates[portion.place];
        feature.screened = true;
        feature.quality.clear();
        feature.forget_bounds();
    }
}

// In a few steps each: what is left of them is to be settled. Both sides at once, as there are few segments of either.
void Search::narrow(const Task& task, const std::vector<Place>& places, std::vector<FeatureCandidates>& candidates) {
    std::atomic<double> reached{reach(task, candidates)};
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (candidates[i].by_histogram) continue;
        for (const Side side : {Side::rest, Side::part}) {
            find_segments(task, i, side, (1.0 - kBoundMargin) * reached, candidates[i], segments);
        }
    }
    run_segments(task, places, reached, segments, [&](Segment& segment, Scratch& scratch) {
        FeatureCandidates& feature = candidates[segment.place];
        walk_segment(task, segment, scratch, reached, feature, [&](std::uint32_t own) {
            const ActivityScope evaluating(scratch.activity, Activity::evaluating);
            const GainBounds gain = settle_gain(scratch, segment.side, kNarrow);
            feature.optimistic[own] = optimistic_quality(gain);
            segment.attained = std::min(segment.attained, -gain.lower);
            scratch.reached = std::min(scratch.reached, -gain.lower);
        });
    });
    for (const Segment& segment : segments) {
        double& attained = candidates[segment.place].attained;
        attained = std::min(attained, segment.attained);
    }
}

GainBounds Search::settle_gain(Scratch& scratch, Side side, double tolerance) {
    return side == Side::rest ? scratch.walk.settle_rest(-scratch.reached, tolerance)
                              : scratch.walk.settle_part(-scratch.reached, tolerance);
}

void Search::settle(const Task& task, const std::vector<Place>& places, Side side,
                    std::vector<FeatureCandidates>& candidates) {
    std::atomic<double> reached{reach(task, candidates)};
    const double limit = (1.0 - kBoundMargin) * reached;
    const auto possible = [&](double quality) { return quality <= limit; };
    if (left_over_.size() < places.size()) left_over_.resize(places.size());
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < places.size(); ++i) {
        FeatureCandidates& feature = candidates[i];
        left_over_[i].clear();
        if (std::none_of(feature.optimistic.begin(), feature.optimistic.end(), possible)) continue;
        left_over_[i].assign(feature.quality.size(), 0);
        if (!feature.by_histogram) {
            find_segments(task, i, side, limit, feature, segments);
            continue;
        }
        // Both sides at once, as long lists are better walked along but once.
        for (std::size_t k = 0; k < left_over_[i].size(); ++k) left_over_[i][k] = possible(feature.optimistic[k]) ? 1 : 0;
        feature.optimistic.clear();
    }
    run_segments(task, places, reached, segments, [&](const Segment& segment, Scratch& scratch) {
        settle_segment(task, segment, scratch, reached, candidates[segment.place], left_over_[segment.place]);
    });
    std::vector<Portion>& features = portions_;
    features.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto count = static_cast<std::size_t>(std::count(left_over_[i].begin(), left_over_[i].end(), 1));
        if (count > 0) features.push_back({i, count});
    }
    std::stable_sort(features.begin(), features.end(),
                     [](const Portion& a, const Portion& b) { return a.length > b.length; });
    cut(features, true);
    pool_.run(parts_.size(), task.interrupt, [&](std::size_t number, std::size_t thread) {
        const auto [place, piece, _] = parts_[number];
        Scratch& scratch = scratch_for(places, place, thread);
        list_wanted(task, column(places[place]), scratch, left_over_[place]);
        total_up(task, scratch);
        scan_exactly(task, scratch, scratch.listing->pairs(), &left_over_[place], candidates[place], piece);
    }, Deal::in_turn);
}

// Candidates that must be solved on their own are left over.
void Search::settle_segment(const Task& task, const Segment& segment, Scratch& scratch, std::atomic<double>& reached,
                            FeatureCandidates& out, Wanted& left_over) const {
    if (settings_.binned_candidates() && !one_by_one_pays(*scratch.listing)) {
        const std::vector<CandidatePair>& pairs = scratch.listing->pairs();
        const double limit = (1.0 - kBoundMargin) * reached;
        for (std::size_t p = segment.begin; p < std::min(segment.end, pairs.size()); ++p) {
            const std::uint32_t own = slot(pairs[p], segment.side);
            left_over[own] = out.optimistic[own] <= limit ? 1 : 0;
        }
        return;
    }
    walk_segment(task, segment, scratch, reached, out, [&](std::uint32_t own) {
        left_over[own] = settle_one(task, scratch, segment.side, out.quality[own]) ? 0 : 1;
    });
}

// Returns whether the quality of a candidate is decided, having stored it unless it is too bad.
bool Search::settle_one(const Task& task, Scratch& scratch, Side side, double& quality) const {
    if (settings_.binned_candidates()) form_binned_system(task, scratch, side);
    const ActivityScope evaluating(scratch.activity, Activity::evaluating);
    if (settings_.binned_candidates()) {
        scratch.scorer.add_system(&quality);
        return true;
    }
    const GainBounds gain = settle_gain(scratch, side, side == Side::rest ? kSettled : kNarrow);
    if (gain.upper < -(1.0 - kBoundMargin) * scratch.reached) return true;
    scratch.reached = std::min(scratch.reached, -gain.lower);
    // The gradients of few examples may be so nearly dependent that conjugate gradients lose the last digits.
    if (side == Side::part || !(gain.upper - gain.lower <= kSettled * gain.upper)) return false;
    quality = -gain.lower;
    return true;
}

// Summing up K^2 / 2 numbers once per example, and aggregating them for each candidate, against K + B^2 / 2 numbers (one
// after the other) for each example of each candidate.
bool Search::one_by_one_pays(Listing& listing) const {
    const auto labels = static_cast<double>(form_.labels);
    const auto bins = 2.0 * bins_for_sign(static_cast<std::int32_t>(form_.labels / 2), settings_.bins);
    double examples = 0.0;
    for (const CandidatePair& pair : listing.pairs()) examples += static_cast<double>(pair.end - pair.begin);
    const double one_by_one = examples * (labels + 0.25 * bins * bins);
    const auto pairs = static_cast<double>(listing.pairs().size());
    return one_by_one < (static_cast<double>(listing.examples().size()) + 2.0 * pairs) * labels * labels / 16.0;
}

GainBounds Search::try_head(const Task& task, Scratch& scratch, Side side) const {
    TrialHead& trial = scratch.trial;
    ProfileWalk& walk = scratch.walk;
    if (side == Side::part) {
        trial.start(walk.part_profile(), anchor_.noise(), nullptr);
        trial.multiply_examples(task.gradients, task.coverage.weights, walk.part(), 1.0);
        return trial.bounds();
    }
    trial.start(walk.rest_profile(), anchor_.noise(), anchor_.products());
    trial.multiply_region(task.coverage.total.data());
    trial.multiply_examples(task.gradients, task.coverage.weights, walk.part(), -1.0);
    trial.multiply_examples(task.gradients, task.coverage.weights, walk.missing(), -1.0);
    return trial.bounds();
}

void Search::form_binned_system(const Task& task, Scratch& scratch, Side side) const {
    BinnedSystem& system = scratch.scorer.system();
    ProfileWalk& walk = scratch.walk;
    const bool rest = side == Side::rest;
    const double noise = kNoise * task.coverage.weight;
    const std::size_t bins = system.start_system(rest ? walk.rest_profile() : walk.part_profile(), noise);
    scratch.products.assign(bins * padded_size(bins), 0.0);
    const auto add = [&](std::span<const std::int32_t> examples) {
        system.sum_products(task.gradients, task.coverage.weights, examples, rest ? 1.0 : -1.0, scratch.products.data());
    };
    add(walk.part());
    if (rest) {
        add(walk.missing());
        system.add_larger_region(task.coverage.total.data());
    }
    system.add_products(scratch.products.data(), padded_size(bins));
}

}  // namespace labelboost
