// How the qualities of a feature's candidates are found: see find_candidates in search.cpp for the order of things.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "search.hpp"

namespace labelboost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWorkBetweenChecks = 1e6;

// The pairs from `begin` on whose parts grow from one to the next.
std::size_t end_of_run(std::span<const CandidatePair> pairs, std::size_t begin) {
    std::size_t end = begin + 1;
    while (end < pairs.size() && !pairs[end].starts_anew) ++end;
    return end;
}

// A piece of the pairs. None begins in the midst of a run.
std::span<const CandidatePair> select(std::span<const CandidatePair> pairs, Piece piece) {
    const auto boundary = [&](std::size_t i) {
        const std::size_t place = i * pairs.size() / piece.of;
        const auto possible = [&](std::size_t at) { return at == 0 || at == pairs.size() || pairs[at].starts_anew; };
        for (std::size_t away = 0;; ++away) {  // ends at the latest at either end of all
            if (away <= place && possible(place - away)) return place - away;
            if (place + away <= pairs.size() && possible(place + away)) return place + away;
        }
    };
    const std::size_t begin = boundary(piece.number);
    return pairs.subspan(begin, boundary(piece.number + 1) - begin);
}

}  // namespace

void FeatureCandidates::join(const FeatureCandidates& other) {
    contenders.insert(contenders.end(), other.contenders.begin(), other.contenders.end());
    best = std::min(best, other.best);
    screened = screened || other.screened;
    if (other.quality.empty()) return;
    for (std::size_t i = 0; i < quality.size(); ++i) quality[i] = std::min(quality[i], other.quality[i]);
    for (std::size_t i = 0; i < optimistic.size(); ++i) optimistic[i] = std::min(optimistic[i], other.optimistic[i]);
    attained = std::min(attained, other.attained);
    by_histogram = by_histogram || other.by_histogram;
    checkpoints.insert(checkpoints.end(), other.checkpoints.begin(), other.checkpoints.end());
}

void Search::list(const Task& task, const Column& column, Scratch& scratch) const {
    KeptListings& kept = task.kept;
    scratch.listing = kept.possible ? &kept.listings[scratch.place] : &scratch.own_listing;
    if (kept.there[scratch.place] != 0) return;
    scratch.listing->collect(column, task.coverage.sample, task.coverage.sampled, task.coverage.multiplicity);
    kept.there[scratch.place] = kept.possible ? 1 : 0;
}

void Search::scan(const Task& task, const Column& column, Scratch& scratch, Piece piece, FeatureCandidates& out) const {
    list(task, column, scratch);
    Listing& listing = *scratch.listing;
    // Without missing values both sides for them are the same.
    if (scratch.missing_side == Missing::right && listing.missing().empty()) return;
    const auto pairs = [&] { return select(listing.pairs(), piece); };
    if (anchored_ && bounds_pay(form_.labels)) {
        out.quality.assign(2 * listing.splits(), kInfinity);
        scratch.walk.start(task.gradients, task.coverage.weights, listing, anchor_);
        bound(task, scratch, pairs(), false, out);
        return;
    }
    total_up(task, scratch);
    if (!column.nominal && Screening::possible(form_, settings_) &&
        Screening::pays(listing.examples().size(), listing.splits())) {
        if (listing.all_listed() && piece.of == 1) {
            screen_all(task, scratch, out);
        } else {
            screen_runs(task, scratch, pairs(), out);
        }
    } else {
        out.quality.assign(2 * listing.splits(), kInfinity);
        scan_exactly(task, scratch, pairs(), nullptr, out);
    }
}

void Search::total_up(const Task& task, Scratch& scratch) const {
    const ActivityScope summing(scratch.activity, Activity::summing);
    const AlignedVector& total = task.coverage.total;
    const auto set = [&](const AlignedVector& sums) {
        if (form_.sets != nullptr) {
            form_.sets->to_joint(sums.data(), scratch.total.data());
        } else {
            std::memcpy(scratch.total.data(), sums.data(), form_.size() * sizeof(double));
        }
    };
    scratch.total_weight = task.coverage.weight;
    if (scratch.listing->missing().empty()) {
        set(total);
        return;
    }
    double missing_weight = 0.0;
    for (const std::int32_t example : scratch.listing->missing()) {
        missing_weight += task.coverage.weights[static_cast<std::size_t>(example)];
    }
    AlignedVector& missing = scratch.missing_side == Missing::dropped ? scratch.sums : scratch.missing;
    std::fill(missing.begin(), missing.end(), 0.0);
    add_many_examples(form_, task.gradients, task.coverage.weights, scratch.listing->missing(), missing.data(),
                      task.interrupt);
    if (scratch.missing_side == Missing::dropped) {
        active_kernels().subtract(scratch.sums.data(), total.data(), scratch.sums.data(), form_.size());
        set(scratch.sums);
        scratch.total_weight -= missing_weight;
    } else {
        set(total);
        scratch.missing_weight = missing_weight;
    }
}

// Whatever the piece, sums are added up in the same order, so that they are the same in every bit.
void Search::scan_exactly(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, const Wanted* wanted,
                          FeatureCandidates& out, Piece piece) const {
    const auto target = [&](std::size_t i) {
        return wanted == nullptr || (*wanted)[i] != 0 ? &out.quality[i] : nullptr;
    };
    const auto is_wanted = [&](const CandidatePair& pair) { return target(pair.part_slot) || target(pair.rest_slot()); };
    const ActivityScope summing(scratch.activity, Activity::summing);
    const auto all = static_cast<std::size_t>(piece.of > 1 ? std::count_if(pairs.begin(), pairs.end(), is_wanted) : 0);
    const std::size_t first_own = piece.number * all / piece.of;
    const std::size_t last_own = piece.of > 1 ? (piece.number + 1) * all / piece.of : pairs.size();
    std::size_t number = 0;  // of those that are wanted
    for (std::size_t begin = 0; begin < pairs.size() && number < last_own;) {
        const std::size_t next = end_of_run(pairs, begin);
        std::size_t end = next;  // nothing needs to be summed up behind the last candidate that is wanted
        while (end > begin && !is_wanted(pairs[end - 1])) --end;
        if (!scratch.listing->missing().empty() && scratch.missing_in_part(pairs[begin].part_slot)) {
            std::copy(scratch.missing.begin(), scratch.missing.end(), scratch.sums.begin());
        } else {
            std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
        }
        std::size_t added = 0;
        for (std::size_t i = begin; i < end && number < last_own; ++i) {
            double* const part = target(pairs[i].part_slot);
            double* const rest = target(pairs[i].rest_slot());
            if (part == nullptr && rest == nullptr) continue;
            // With what was passed over since the last candidate that is wanted.
            const std::span<const std::int32_t> examples = scratch.listing->part(pairs[i]);
            const bool from_the_front = pairs[begin].begin == pairs[i].begin;
            const std::size_t more = examples.size() - added;
            add_many_examples(form_, task.gradients, task.coverage.weights,
                              from_the_front ? examples.last(more) : examples.first(more), scratch.sums.data(),
                              task.interrupt);
            added = examples.size();
            count_work(scratch, static_cast<double>(more * form_.size()), task.interrupt);
            if (number++ >= first_own) emit(scratch, pairs[i], part, rest, task.interrupt);
        }
        begin = next;
    }
}

void Search::emit(Scratch& scratch, const CandidatePair& pair, double* part_quality, double* rest_quality,
                  Interrupt& interrupt) const {
    const ActivityScope evaluating(scratch.activity, Activity::evaluating);
    const std::size_t part_count = scratch.part_count(pair), rest_count = scratch.rest_count(pair);
    if (settings_.trees && !eligible(part_count, rest_count)) return;
    if (form_.sets != nullptr) form_.sets->to_joint(scratch.sums.data(), scratch.joint.data());
    const double* const part = form_.sets != nullptr ? scratch.joint.data() : scratch.sums.data();
    if (part_quality != nullptr && eligible(part_count, rest_count)) {
        scratch.scorer.add(part, nullptr, part_quality);
    }
    if (rest_quality != nullptr && eligible(rest_count, part_count)) {
        scratch.scorer.add(scratch.total.data(), part, rest_quality);
    }
    const auto labels = static_cast<double>(form_.labels);
    count_work(scratch, form_.joint ? labels * labels * labels : labels, interrupt);
}

void Search::count_work(Scratch& scratch, double work, Interrupt& interrupt) {
    scratch.work += work;
    if (scratch.work < kWorkBetweenChecks) return;
    scratch.work = 0.0;
    interrupt.check();
}

// All candidates of a numeric feature without an implicit value, in one walk from the front.
void Search::screen_all(const Task& task, Scratch& scratch, FeatureCandidates& out) const {
    const Listing& listing = *scratch.listing;
    const std::size_t listed = listing.count_of_first(listing.examples().size());
    scratch.splits.resize(listing.splits());
    const std::size_t missing = settings_.trees ? listing.missing_count() : 0;
    const std::size_t missing_before = scratch.missing_in_part(0) ? missing : 0;
    for (std::uint32_t s = 0; s < listing.splits(); ++s) {
        const std::uint32_t end = listing.listed_before(s);
        const std::size_t before = listing.count_of_first(end) + missing_before;
        const std::size_t behind = listed + missing - before;
        scratch.splits[s] = {end, 2 * s, eligible(before, behind), eligible(behind, before)};
    }
    walk_along(task, scratch, false, out);
}

// The candidates of some pairs, in a walk for each run from where its parts begin.
void Search::screen_runs(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs,
                         FeatureCandidates& out) const {
    for (std::size_t begin = 0; begin < pairs.size();) {
        const std::size_t end = end_of_run(pairs, begin);
        const std::span<const CandidatePair> run = pairs.subspan(begin, end - begin);
        scratch.splits.resize(run.size());
        for (std::size_t i = 0; i < run.size(); ++i) {
            const std::size_t part = scratch.part_count(run[i]), rest = scratch.rest_count(run[i]);
            scratch.splits[i] = {run[i].end - run[i].begin, run[i].part_slot, eligible(part, rest), eligible(rest, part)};
        }
        walk_along(task, scratch, run.front().begin > 0, out);
        begin = end;
    }
}

void Search::walk_along(const Task& task, Scratch& scratch, bool from_the_back, FeatureCandidates& out) const {
    const bool with_missing = !scratch.listing->missing().empty() && scratch.missing_in_part(scratch.splits.front().slot);
    const Screening::Walk walk{scratch.listing->examples(), from_the_back, scratch.splits,
                               with_missing ? &scratch.missing : nullptr, with_missing ? scratch.missing_weight : 0.0,
                               !scratch.listing->missing().empty()};
    const double noise = kNoise * task.coverage.weight;
    out.screened = true;
    Screening& screening = scratch.screening;
    if (Screening::by_leaps(form_, settings_)) {
        screening.set_reached(task.reached.load(std::memory_order_relaxed));
        screening.leap(task.gradients, task.coverage.weights, walk, scratch.place, scratch.total, scratch.total_weight,
                       noise, scratch.activity);
        for (float known = task.reached.load(std::memory_order_relaxed);
             screening.reached() < known && !task.reached.compare_exchange_weak(known, screening.reached());) {}
        task.interrupt.check();
        return;
    }
    screening.run(task.gradients, task.coverage.weights, walk, scratch.total, scratch.total_weight, noise,
                  scratch.activity);
    note_contenders(
        [&](const auto& visit) {
            for (std::size_t s = 0; s < scratch.splits.size(); ++s) {
                const Screening::WalkSplit& split = scratch.splits[s];
                if (settings_.trees) {  // both sides together
                    if (split.before) visit(split.slot & ~1U, screening.before(s) + screening.behind(s));
                    continue;
                }
                if (split.before) visit(split.slot, screening.before(s));
                if (split.behind) visit(split.slot ^ 1U, screening.behind(s));
            }
        },
        out);
    task.interrupt.check();
}

// Lists what is needed to score the wanted candidates.
void Search::list_wanted(const Task& task, const Column& column, Scratch& scratch, const Wanted& wanted) const {
    const Coverage& coverage = task.coverage;
    if (task.kept.there[scratch.place] != 0 || !coverage.multiplicity.empty() ||
        !Listing::counting_pays(column, coverage.sample.size())) {
        list(task, column, scratch);
        return;
    }
    scratch.listing = &scratch.own_listing;
    scratch.listing->collect_wanted(column, coverage.sample, wanted);
}

bool FeatureCandidates::drop_all_behind(double limit) {
    if (!screened) return false;
    screened = false;
    std::erase_if(contenders, [&](const Contender& contender) { return contender.quality > limit; });
    return !contenders.empty();
}

void Search::confirm(const Task& task, const Column& column, Scratch& scratch, FeatureCandidates& out) const {
    std::uint32_t last = 0;
    for (const auto& contender : out.contenders) last = std::max(last, contender.slot | 1U);
    Wanted wanted(last + 1, 0);
    for (const auto& contender : out.contenders) {
        wanted[contender.slot] = 1;
        if (settings_.trees) wanted[contender.slot ^ 1U] = 1;
    }
    list_wanted(task, column, scratch, wanted);
    out.quality.assign(2 * scratch.listing->splits(), kInfinity);
    wanted.resize(out.quality.size(), 0);
    total_up(task, scratch);
    scan_exactly(task, scratch, scratch.listing->pairs(), &wanted, out);
}

void Search::bound(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, bool with_histogram,
                   FeatureCandidates& out) const {
    ProfileWalk& walk = scratch.walk;
    out.optimistic.assign(out.quality.size(), kInfinity);
    const ActivityScope summing(scratch.activity, Activity::summing);
    const auto note = [&](std::size_t slot, std::size_t count, const auto& bounds) {
        if (count < least_coverage()) return;
        const GainBounds gain = bounds();
        out.optimistic[slot] = -gain.upper;
        out.attained = std::min(out.attained, -gain.lower);
    };
    constexpr std::size_t kSegments = 16, kFewestPairs = 16;
    const std::size_t length = std::max(scratch.listing->pairs().size() / kSegments, kFewestPairs);
    for (const CandidatePair& pair : pairs) {
        const auto number = static_cast<std::size_t>(&pair - scratch.listing->pairs().data());
        if (!with_histogram && (number % length == 0 || &pair == pairs.data())) {
            out.checkpoints.push_back({number, pair.starts_anew ? AlignedVector{} : walk.part_profile_copy()});
        }
        walk.advance(pair);
        const ActivityScope evaluating(scratch.activity, Activity::evaluating);
        note(pair.part_slot, pair.part_count, [&] { return walk.part_bounds(); });
        note(pair.rest_slot(), pair.rest_count, [&] { return walk.rest_bounds(); });
        const std::size_t added = pair.added_end - pair.added_begin;
        count_work(scratch, static_cast<double>(added * form_.labels), task.interrupt);
    }
}

void Search::find_segments(const Task& task, std::size_t place, Side side, double limit, const FeatureCandidates& feature,
                           std::vector<Segment>& out) const {
    static const AlignedVector nothing;
    if (!task.kept.possible) {
        const double best = *std::min_element(feature.optimistic.begin(), feature.optimistic.end());
        out.push_back({place, 0, std::numeric_limits<std::size_t>::max(), &nothing, best});
        return;
    }
    const std::vector<CandidatePair>& pairs = task.kept.listings[place].pairs();
    for (std::size_t c = 0; c < feature.checkpoints.size(); ++c) {
        const auto& [begin, profile] = feature.checkpoints[c];
        const std::size_t end = c + 1 < feature.checkpoints.size() ? feature.checkpoints[c + 1].pair : pairs.size();
        double best = kInfinity;
        for (std::size_t p = begin; p < end; ++p) best = std::min(best, feature.optimistic[slot(pairs[p], side)]);
        if (best <= limit) out.push_back({place, begin, end, &profile, best});
    }
}

void Search::settle(const Task& task, const std::vector<Place>& places, double incumbent, Side side,
                    std::vector<FeatureCandidates>& candidates) {
    std::atomic<double> reached{reach(candidates, incumbent)};
    const double limit = (1.0 - kBoundMargin) * reached;
    const auto possible = [&](double quality) { return quality <= limit; };
    std::vector<Wanted> left_over(places.size());
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < places.size(); ++i) {
        FeatureCandidates& feature = candidates[i];
        if (std::none_of(feature.optimistic.begin(), feature.optimistic.end(), possible)) continue;
        left_over[i].assign(feature.quality.size(), 0);
        if (!feature.by_histogram) {
            find_segments(task, i, side, limit, feature, segments);
            continue;
        }
        // Both sides at once, as long lists are better walked along but once.
        for (std::size_t k = 0; k < left_over[i].size(); ++k) left_over[i][k] = possible(feature.optimistic[k]) ? 1 : 0;
        feature.optimistic.clear();
    }
    // The most promising ones first: what they reach spares others a closer look.
    std::stable_sort(segments.begin(), segments.end(),
                     [](const Segment& a, const Segment& b) { return a.optimistic < b.optimistic; });
    pool_.run(segments.size(), task.interrupt, [&](std::size_t number, std::size_t thread) {
        if (!(segments[number].optimistic <= (1.0 - kBoundMargin) * reached)) return;
        const std::size_t i = segments[number].place;
        Scratch& scratch = scratch_for(places, i, thread);
        list(task, column(places[i]), scratch);
        settle_segment(task, segments[number], scratch, side, reached, candidates[i], left_over[i]);
    });
    std::vector<std::size_t> features;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (std::find(left_over[i].begin(), left_over[i].end(), 1) != left_over[i].end()) features.push_back(i);
    }
    const std::size_t pieces = pool_.size();
    pool_.run(features.size() * pieces, task.interrupt, [&](std::size_t number, std::size_t thread) {
        const std::size_t i = features[number / pieces];
        Scratch& scratch = scratch_for(places, i, thread);
        list_wanted(task, column(places[i]), scratch, left_over[i]);
        total_up(task, scratch);
        scan_exactly(task, scratch, scratch.listing->pairs(), &left_over[i], candidates[i], {number % pieces, pieces});
    });
}

// Candidates that must be solved on their own are left over.
void Search::settle_segment(const Task& task, const Segment& segment, Scratch& scratch, Side side,
                            std::atomic<double>& reached, FeatureCandidates& out, Wanted& left_over) const {
    const std::vector<CandidatePair>& pairs = scratch.listing->pairs();
    const std::size_t end = std::min(segment.end, pairs.size());
    const auto possible = [&](const CandidatePair& pair) {
        scratch.reached = reached.load(std::memory_order_relaxed);
        return out.optimistic[slot(pair, side)] <= (1.0 - kBoundMargin) * scratch.reached;
    };
    if (settings_.binned_candidates() && !one_by_one_pays(*scratch.listing)) {
        for (std::size_t p = segment.begin; p < end; ++p) left_over[slot(pairs[p], side)] = possible(pairs[p]) ? 1 : 0;
        return;
    }
    const ActivityScope summing(scratch.activity, Activity::summing);
    scratch.walk.start(task.gradients, task.coverage.weights, *scratch.listing, anchor_);
    scratch.walk.resume(*segment.profile);
    for (std::size_t p = segment.begin; p < end; ++p) {
        scratch.walk.advance(pairs[p]);
        if (!possible(pairs[p])) continue;
        const std::uint32_t own = slot(pairs[p], side);
        left_over[own] = settle_one(task, scratch, side, out.quality[own]) ? 0 : 1;
        for (double known = reached; scratch.reached < known && !reached.compare_exchange_weak(known, scratch.reached);) {}
        count_work(scratch, static_cast<double>(scratch.walk.part().size() * form_.size()), task.interrupt);
    }
}

// Returns whether the quality of a candidate is decided, having stored it unless it is too bad.
bool Search::settle_one(const Task& task, Scratch& scratch, Side side, double& quality) const {
    if (settings_.binned_candidates()) form_binned_system(task, scratch, side);
    const ActivityScope evaluating(scratch.activity, Activity::evaluating);
    if (settings_.binned_candidates()) {
        scratch.scorer.add_system(&quality);
        return true;
    }
    if (side == Side::part) return -scratch.walk.tight_part_gain() > (1.0 - kBoundMargin) * scratch.reached;
    double least = -scratch.reached;
    const double gain = scratch.walk.settled_rest_gain(least);
    scratch.reached = -least;
    if (gain > 0.0) quality = -gain;
    return !std::isnan(gain);
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
