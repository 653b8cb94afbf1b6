// How the qualities of a feature's candidates are found: see find_candidates in search.cpp for the order of things.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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

void FeatureCandidates::reset() {
    quality.clear();
    best = kInfinity;
    screened = by_histogram = by_rank = false;
    contenders.clear();
    forget_bounds();
    attained = kInfinity;
}

void FeatureCandidates::forget_bounds() {
    optimistic.clear();
    checkpoints.clear();
    walkable = 0;
}

std::pair<std::size_t, double> FeatureCandidates::first_up_to(double limit, bool trees) const {
    if (by_contender(trees)) {
        const auto found = std::ranges::find_if(contenders, [&](const Contender& c) { return c.quality <= limit; });
        return {found->slot, found->quality};
    }
    std::size_t position = 0;
    while (!(value(position, trees) <= limit)) ++position;
    return {position, value(position, trees)};
}

double* FeatureCandidates::place_of(std::size_t slot, bool trees) {
    if (!by_contender(trees)) return &quality[slot];
    return &std::ranges::lower_bound(contenders, slot, {}, &Contender::slot)->quality;
}

void FeatureCandidates::join(const FeatureCandidates& other) {
    contenders.insert(contenders.end(), other.contenders.begin(), other.contenders.end());
    best = std::min(best, other.best);
    screened = screened || other.screened;
    if (other.quality.empty()) return;
    for (std::size_t i = 0; i < quality.size(); ++i) quality[i] = std::min(quality[i], other.quality[i]);
    for (std::size_t i = 0; i < optimistic.size(); ++i) optimistic[i] = std::min(optimistic[i], other.optimistic[i]);
    attained = std::min(attained, other.attained);
    checkpoints.insert(checkpoints.end(), other.checkpoints.begin(), other.checkpoints.end());
}

// Lists are kept by the thread that takes the first piece; others, which may come before it, have lists of their own.
// Whoever makes a list uses memory of its own: that of a list which another thread made before is in the other one's cache.
void Search::list(const Task& task, const Column& column, Scratch& scratch, Piece piece) const {
    const bool keep = task.kept.possible && piece.number == 0;
    Listing*& kept = task.kept.of_place[scratch.place];
    if (keep && kept != nullptr) {
        scratch.listing = kept;
        return;
    }
    scratch.listing = keep ? &scratch.kept_listings.next() : &scratch.own_listing;
    const Coverage& coverage = task.coverage;
    scratch.listing->collect(column, coverage.sample, coverage.sample_size(), coverage.sampled, coverage.multiplicity);
    if (keep) kept = scratch.listing;
}

void Search::scan(const Task& task, const Column& column, Scratch& scratch, Piece piece, FeatureCandidates& out) const {
    list(task, column, scratch, piece);
    Listing& listing = *scratch.listing;
    // Without missing values both sides for them are the same.
    if (scratch.missing_side == Missing::right && listing.missing().empty()) return;
    const auto pairs = [&] { return select(listing.pairs(), piece); };
    const bool can_be_screened = !column.nominal && screens_ &&
                                 Screening::pays(listing.examples().size(), listing.splits()) &&
                                 scratch.screening.is_long(listing.examples().size());
    if (anchored_ && bounds_pay(settings_, form_.labels, can_be_screened)) {
        out.quality.assign(2 * listing.splits(), kInfinity);
        out.walkable = can_be_screened ? listing.examples().size() : 0;
        scratch.walk.start(task.gradients, task.coverage.weights, listing, anchor_);
        bound(task, scratch, pairs(), out);
        return;
    }
    const bool is_short = !can_be_screened || (few_long_ && listing.splits() <= ShortLists::kMostSplits);
    if (is_short && sample_rows_.filled() && listing.missing().empty()) {
        out.screened = true;
        if (piece.of == 1) {
            scratch.short_lists.add(sample_rows_, listing, scratch.place, least_coverage());
        } else {
            scratch.short_lists.add(sample_rows_, listing, pairs(), scratch.place, least_coverage());
        }
        return;
    }
    if (can_be_screened) {
        out.screened = true;
        screen(task, scratch, piece, out);
    } else {
        total_up(task, scratch);
        out.quality.assign(2 * listing.splits(), kInfinity);
        scan_exactly(task, scratch, listing.pairs(), nullptr, out, piece);
    }
}

// The candidates of the list at hand that bounds, if there are any, have not ruled out.
void Search::screen(const Task& task, Scratch& scratch, Piece piece, FeatureCandidates& out) const {
    total_up(task, scratch);
    Listing& listing = *scratch.listing;
    Sides sides;
    if (piece.of > 1 && scratch.screening.shared_by_sides(listing.examples().size(), !listing.all_listed())) {
        sides = {piece.number == 0, piece.number > 0};
        piece = {0, 1};
    }
    if (listing.all_listed()) {
        screen_list(task, scratch, piece, sides, out);
    } else {
        screen_runs(task, scratch, select(listing.pairs(), piece), sides, out);
    }
}

// What another thread looks at, and what bounds have ruled out.
void Search::leave_out(std::vector<Screening::WalkSplit>& splits, Sides sides, const FeatureCandidates& bounded) {
    if (sides.before && sides.behind && bounded.optimistic.empty()) return;
    for (Screening::WalkSplit& split : splits) {
        split.before = split.before && sides.before && bounded.is_possible(split.slot);
        split.behind = split.behind && sides.behind && bounded.is_possible(split.slot ^ 1U);
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

// A piece of the wanted candidates, by their numbers. Who takes a later one has to add up everything before it, too, so
// the earlier ones have more candidates: with 1 - r the work of adding up one more, for somebody who passes it over, as a
// share of the work for a candidate, the first p pieces of n have (1 - r^p) / (1 - r^n) of them if all are to take equally
// long.
template <typename IsWanted>
Search::Share Search::share(const Listing& listing, std::span<const CandidatePair> pairs, const IsWanted& is_wanted,
                            Piece piece) const {
    std::size_t all = 0, examples = 0, of_run = 0;
    for (const CandidatePair& pair : pairs) {
        if (pair.starts_anew) examples += std::exchange(of_run, 0);
        if (!is_wanted(pair)) continue;
        ++all;
        of_run = listing.part(pair).size();
    }
    examples += of_run;
    // Reckoned in operations: to aggregate a system is worth six examples that are added, to solve one without bins K / 2.
    const bool aggregated = settings_.binned_candidates() || !form_.joint;
    const double scoring = static_cast<double>(all) * (aggregated ? 6.0 : static_cast<double>(form_.labels) / 2.0);
    // Many examples are added up in less than half of the time that they take one by one.
    constexpr double kPassedOver = 0.4;
    const double adding = static_cast<double>(examples) + 1.0;
    const double r = 1.0 - kPassedOver * adding / (scoring + adding);
    const auto up_to = [&](std::size_t p) { return 1.0 - std::pow(r, static_cast<double>(p)); };
    const auto boundary = [&](std::size_t p) {
        const double share = up_to(p) / up_to(piece.of);
        return p == piece.of ? all : static_cast<std::size_t>(share * static_cast<double>(all) + 0.5);
    };
    return {boundary(piece.number), boundary(piece.number + 1)};
}

// Whatever the piece, sums are added up in the same order, so that they are the same in every bit.
void Search::scan_exactly(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, const Wanted* wanted,
                          FeatureCandidates& out, Piece piece) const {
    const auto target = [&](std::size_t i) {
        return wanted == nullptr || (*wanted)[i] != 0 ? out.place_of(i, settings_.trees) : nullptr;
    };
    const auto is_wanted = [&](const CandidatePair& pair) { return target(pair.part_slot) || target(pair.rest_slot()); };
    const ActivityScope summing(scratch.activity, Activity::summing);
    const auto [first_own, last_own] =
        piece.of > 1 ? share(*scratch.listing, pairs, is_wanted, piece) : Share{0, pairs.size()};
    const auto add = [&](std::span<const std::int32_t> examples) {
        add_many_examples(form_, task.gradients, task.coverage.weights, examples, scratch.sums.data(), task.interrupt);
        count_work(scratch, static_cast<double>(examples.size() * form_.size()), task.interrupt);
    };
    std::vector<std::int32_t>& before = scratch.some;  // in the order in which who has the first piece adds them up
    std::size_t number = 0;  // of those that are wanted
    for (std::size_t begin = 0; begin < pairs.size() && number < last_own;) {
        before.clear();
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
            const auto joining = from_the_front ? examples.last(more) : examples.first(more);
            added = examples.size();
            if (number++ < first_own) {  // of another piece
                before.insert(before.end(), joining.begin(), joining.end());
                continue;
            }
            add(before);
            before.clear();
            add(joining);
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

// All candidates of a numeric feature without an implicit value, in one walk from the front. Of two pieces, neither of them
// without a split, the first one is walked along from the front and the other one from the back.
void Search::screen_list(const Task& task, Scratch& scratch, Piece piece, Sides sides, FeatureCandidates& out) const {
    const Listing& listing = *scratch.listing;
    const auto examples = static_cast<std::uint32_t>(listing.examples().size());
    const std::size_t listed = listing.count_of_first(examples);
    const std::uint32_t back = piece.number > 0 ? 1 : 0;
    const std::size_t missing = settings_.trees ? listing.missing_count() : 0;
    const std::size_t missing_in_part = scratch.missing_in_part(back) ? missing : 0;
    const auto splits = static_cast<std::uint32_t>(listing.splits());
    const std::uint32_t middle = piece.of > 1 ? splits / 2 : splits;
    const std::uint32_t count = back != 0 ? splits - middle : middle;
    scratch.splits.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t s = back != 0 ? splits - 1 - i : i;
        const std::uint32_t end = listing.listed_before(s);
        const std::size_t before = listing.count_of_first(end);
        const std::size_t part = (back != 0 ? listed - before : before) + missing_in_part;
        const std::size_t rest = listed + missing - part;
        scratch.splits[i] = {back != 0 ? examples - end : end, 2 * s + back, eligible(part, rest), eligible(rest, part)};
    }
    leave_out(scratch.splits, sides, out);
    walk_along(task, scratch, back != 0, out);
}

// The candidates of some pairs, in a walk for each run from where its parts begin.
void Search::screen_runs(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, Sides sides,
                         FeatureCandidates& out) const {
    for (std::size_t begin = 0; begin < pairs.size();) {
        const std::size_t end = end_of_run(pairs, begin);
        const std::span<const CandidatePair> run = pairs.subspan(begin, end - begin);
        scratch.splits.resize(run.size());
        for (std::size_t i = 0; i < run.size(); ++i) {
            const std::size_t part = scratch.part_count(run[i]), rest = scratch.rest_count(run[i]);
            scratch.splits[i] = {run[i].end - run[i].begin, run[i].part_slot, eligible(part, rest), eligible(rest, part)};
        }
        leave_out(scratch.splits, sides, out);
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
    Screening& screening = scratch.screening;
    if (Screening::by_leaps(settings_)) {
        screening.set_reached(task.reached.load(std::memory_order_relaxed));
        screening.leap(task.gradients, task.coverage.weights, walk, scratch.place, scratch.total, scratch.total_weight,
                       noise, scratch.activity);
        lower(task.reached, screening.reached());
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

void Search::list_wanted(const Task& task, const Column& column, Scratch& scratch, const Wanted& wanted) const {
    const Coverage& coverage = task.coverage;
    if (task.kept.of_place[scratch.place] != nullptr || !coverage.multiplicity.empty() ||
        !Listing::counting_pays(column, coverage.sample_size())) {
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
    if (out.by_rank) {
        blocked_[scratch.place].settle(ranked(task), settings_, kNoise * task.coverage.weight, out.contenders, scratch.some,
                                       task.interrupt);
        return;
    }
    std::ranges::sort(out.contenders, {}, &FeatureCandidates::Contender::slot);
    Wanted& wanted = scratch.wanted;
    wanted.assign((out.contenders.back().slot | 1U) + 1, 0);
    for (auto& [slot, quality] : out.contenders) {
        wanted[slot] = 1;
        quality = kInfinity;  // until it is scored
        if (settings_.trees) wanted[slot ^ 1U] = 1;
    }
    list_wanted(task, column, scratch, wanted);
    const std::size_t slots = 2 * scratch.listing->splits();
    if (settings_.trees) out.quality.assign(slots, kInfinity);
    wanted.resize(slots, 0);
    total_up(task, scratch);
    scan_exactly(task, scratch, scratch.listing->pairs(), &wanted, out);
}

}  // namespace labelboost
