// How the qualities of a feature's candidates are found: see find_candidates in search.cpp for the order of things.
#include <algorithm>
#include <cmath>
#include <cstring>

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
}

void Search::scan(const Task& task, const Column& column, Scratch& scratch, Piece piece, FeatureCandidates& out) const {
    Listing& listing = scratch.listing;
    listing.collect(column, task.coverage.sample, task.coverage.sampled, task.coverage.multiplicity);
    // Without missing values both sides for them are the same.
    if (scratch.missing_side == Missing::right && listing.missing().empty()) return;
    const auto pairs = [&] { return select(listing.pairs(), piece); };
    if (anchored_ && bounds_pay(form_.labels)) {
        out.quality.assign(2 * listing.splits(), kInfinity);
        scratch.walk.start(task.gradients, task.coverage.weights, listing, anchor_);
        bound(task, scratch, pairs(), out);
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
    if (scratch.listing.missing().empty()) {
        set(total);
        return;
    }
    double missing_weight = 0.0;
    for (const std::int32_t example : scratch.listing.missing()) {
        missing_weight += task.coverage.weights[static_cast<std::size_t>(example)];
    }
    AlignedVector& missing = scratch.missing_side == Missing::dropped ? scratch.sums : scratch.missing;
    std::fill(missing.begin(), missing.end(), 0.0);
    add_many_examples(form_, task.gradients, task.coverage.weights, scratch.listing.missing(), missing.data(),
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

// wanted: which candidates to score; null for all.
void Search::scan_exactly(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs,
                          const std::vector<bool>* wanted, FeatureCandidates& out) const {
    const auto target = [&](std::size_t i) { return wanted == nullptr || (*wanted)[i] ? &out.quality[i] : nullptr; };
    const ActivityScope summing(scratch.activity, Activity::summing);
    for (std::size_t begin = 0; begin < pairs.size();) {
        const std::size_t next = end_of_run(pairs, begin);
        std::size_t end = next;  // nothing needs to be summed up behind the last candidate that is wanted
        while (end > begin && !target(pairs[end - 1].part_slot) && !target(pairs[end - 1].rest_slot())) --end;
        if (!scratch.listing.missing().empty() && scratch.missing_in_part(pairs[begin].part_slot)) {
            std::copy(scratch.missing.begin(), scratch.missing.end(), scratch.sums.begin());
        } else {
            std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
        }
        std::size_t added = 0;
        for (std::size_t i = begin; i < end; ++i) {
            double* const part = target(pairs[i].part_slot);
            double* const rest = target(pairs[i].rest_slot());
            if (part == nullptr && rest == nullptr) continue;
            // With what was passed over since the last candidate that is wanted.
            const std::span<const std::int32_t> examples = scratch.listing.part(pairs[i]);
            const bool from_the_front = pairs[begin].begin == pairs[i].begin;
            const std::size_t more = examples.size() - added;
            add_many_examples(form_, task.gradients, task.coverage.weights,
                              from_the_front ? examples.last(more) : examples.first(more), scratch.sums.data(),
                              task.interrupt);
            added = examples.size();
            count_work(scratch, static_cast<double>(more * form_.size()), task.interrupt);
            emit(scratch, pairs[i], part, rest, task.interrupt);
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
    const Listing& listing = scratch.listing;
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
    const bool with_missing = !scratch.listing.missing().empty() && scratch.missing_in_part(scratch.splits.front().slot);
    const Screening::Walk walk{scratch.listing.examples(), from_the_back, scratch.splits,
                               with_missing ? &scratch.missing : nullptr, with_missing ? scratch.missing_weight : 0.0};
    const double noise = kNoise * task.coverage.weight;
    out.screened = true;
    Screening& screening = scratch.screening;
    if (Screening::by_leaps(form_, settings_)) {
        screening.leap(task.gradients, task.coverage.weights, walk, scratch.place, scratch.total, scratch.total_weight,
                       noise, scratch.activity);
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
void Search::list_wanted(const Task& task, const Column& column, Scratch& scratch, const std::vector<bool>& wanted) const {
    const Coverage& coverage = task.coverage;
    if (coverage.multiplicity.empty() && Listing::counting_pays(column, coverage.sample.size())) {
        scratch.listing.collect_wanted(column, coverage.sample, wanted);
    } else {
        scratch.listing.collect(column, coverage.sample, coverage.sampled, coverage.multiplicity);
    }
}

void Search::confirm(const Task& task, const Column& column, Scratch& scratch, double limit,
                     FeatureCandidates& out) const {
    out.screened = false;
    std::erase_if(out.contenders, [&](const auto& contender) { return contender.quality > limit; });
    if (out.contenders.empty()) return;
    std::uint32_t last = 0;
    for (const auto& contender : out.contenders) last = std::max(last, contender.slot | 1U);
    std::vector<bool> wanted(last + 1, false);
    for (const auto& contender : out.contenders) {
        wanted[contender.slot] = true;
        if (settings_.trees) wanted[contender.slot ^ 1U] = true;
    }
    list_wanted(task, column, scratch, wanted);
    out.quality.assign(2 * scratch.listing.splits(), kInfinity);
    wanted.resize(out.quality.size(), false);
    total_up(task, scratch);
    scan_exactly(task, scratch, scratch.listing.pairs(), &wanted, out);
}

void Search::bound(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs,
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
    for (const CandidatePair& pair : pairs) {
        walk.advance(pair);
        const ActivityScope evaluating(scratch.activity, Activity::evaluating);
        note(pair.part_slot, pair.part_count, [&] { return walk.part_bounds(); });
        note(pair.rest_slot(), pair.rest_count, [&] { return walk.rest_bounds(); });
        const std::size_t added = pair.added_end - pair.added_begin;
        count_work(scratch, static_cast<double>(added * form_.labels), task.interrupt);
    }
}

void Search::settle(const Task& task, const Column& column, Scratch& scratch, Side side, FeatureCandidates& out) const {
    const auto possible = [&](double quality) { return quality <= (1.0 - kBoundMargin) * scratch.reached; };
    if (std::none_of(out.optimistic.begin(), out.optimistic.end(), possible)) return;
    std::vector<bool> left_over(out.quality.size(), false);
    if (out.by_histogram) {
        // Both sides at once, as long lists are better walked along but once.
        for (std::size_t i = 0; i < left_over.size(); ++i) left_over[i] = possible(out.optimistic[i]);
        out.optimistic.clear();
        list_wanted(task, column, scratch, left_over);
        total_up(task, scratch);
        scan_exactly(task, scratch, scratch.listing.pairs(), &left_over, out);
        return;
    }
    scratch.listing.collect(column, task.coverage.sample, task.coverage.sampled, task.coverage.multiplicity);
    scratch.walk.start(task.gradients, task.coverage.weights, scratch.listing, anchor_);
    const auto slot = [&](const CandidatePair& pair) { return side == Side::part ? pair.part_slot : pair.rest_slot(); };
    if (settings_.binned_candidates() && !one_by_one_pays(scratch.listing)) {
        for (const CandidatePair& pair : scratch.listing.pairs()) {
            left_over[slot(pair)] = possible(out.optimistic[slot(pair)]);
        }
    } else {
        const ActivityScope summing(scratch.activity, Activity::summing);
        for (const CandidatePair& pair : scratch.listing.pairs()) {
            scratch.walk.advance(pair);
            if (!possible(out.optimistic[slot(pair)])) continue;
            left_over[slot(pair)] = !settle_one(task, scratch, side, out.quality[slot(pair)]);
            count_work(scratch, static_cast<double>(scratch.walk.part().size() * form_.size()), task.interrupt);
        }
    }
    if (std::find(left_over.begin(), left_over.end(), true) == left_over.end()) return;
    total_up(task, scratch);
    scan_exactly(task, scratch, scratch.listing.pairs(), &left_over, out);
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
