#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace labelboost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A value between two neighbouring ones that separates them for certain, even where they are so close that
// their middle rounds to one of them.
double midpoint(double a, double b) {
    const double middle = 0.5 * a + 0.5 * b;
    return a <= middle && middle < b ? middle : a;
}

double threshold(const Column& column, Split split) {
    const auto below = static_cast<std::size_t>(split.below);
    const auto above = static_cast<std::size_t>(split.above);
    // Bins have fixed boundaries; none between the two, though empty in the sample, may be cut in two.
    return midpoint(column.high()[below], column.low[column.binned ? below + 1 : above]);
}

double best_of_all(const std::vector<FeatureCandidates>& candidates) {
    double best = kInfinity;
    for (const FeatureCandidates& feature : candidates) best = std::min(best, feature.best);
    return best;
}

// The worst quality that is better than another by more than rounding.
double less_rounding(double quality, double root_noise) { return quality - kTie * std::abs(quality) - root_noise; }

}  // namespace

Search::Search(const Columns& columns, const Settings& settings, const Form& form, ThreadPool& pool)
    : columns_(columns),
      settings_(settings),
      form_(form),
      pool_(pool),
      anchor_(form, settings),
      sample_rows_(form, settings, columns.examples),
      dropped_(columns.examples, 0),
      residual_bounds_(form, settings),
      packed_rows_(form, settings),
      screens_(Screening::useful(form, settings, columns)),
      blocks_(BlockedFeature::possible(form, settings)) {
    for (std::size_t thread = 0; thread < pool.size(); ++thread) {
        scratch_.emplace_back(form_, settings_, packed_rows_.tiles().size);
    }
    packs_ = PackedRows::possible(form, settings) &&
             std::any_of(columns.features.begin(), columns.features.end(), [&](const Column& feature) {
                 return packed_rows_.suits(feature, columns.examples) ||
                        packed_rows_.suits(feature, std::min(columns.examples, packed_rows_.capacity()));
             });
    if (packs_ && settings.trees) position_.resize(columns.examples);
}

double Search::best_known(const FeatureCandidates& feature) const {
    if (feature.screened) return feature.best;
    double best = kInfinity;
    if (!feature.contenders.empty()) {  // then nothing else has a quality
        for (const auto& [slot, quality] : feature.contenders) {
            best = std::min(best, settings_.trees ? feature.value(slot / 2, true) : quality);
        }
        return best;
    }
    for (std::size_t i = 0; i < feature.positions(settings_.trees); ++i) {
        best = std::min(best, feature.value(i, settings_.trees));
    }
    return best;
}

bool Search::is_better(double quality, const Task& task) {
    if (quality < less_rounding(task.incumbent.best, task.root_noise)) return true;
    if (!task.incumbent.is_exact() && quality < less_rounding(task.incumbent.worst, task.root_noise)) {
        return quality < less_rounding(this->quality(task.coverage, task.interrupt), task.root_noise);
    }
    return false;
}

std::optional<Search::Winner> Search::best_candidate(const Task& task, const std::vector<Place>& places,
                                                     std::vector<FeatureCandidates>& candidates) {
    if (const auto only = find_candidates(task, places, candidates)) return only;
    const double best = best_of_all(candidates);
    if (best == kInfinity) return std::nullopt;
    const double equal = best + kTie * std::abs(best);
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!(candidates[i].best <= equal)) continue;
        const auto [position, found] = candidates[i].first_up_to(equal, settings_.trees);
        if (!is_better(found, task)) return std::nullopt;
        return Winner{i, position, {found, found}};
    }
    return std::nullopt;
}

std::optional<Search::Refinement> Search::refine(Coverage& coverage, const Gradients& gradients,
                                                 const std::vector<std::int32_t>& features, QualityRange incumbent,
                                                 double root_noise, Interrupt& interrupt) {
    places_.clear();
    for (const std::int32_t feature : features) places_.push_back({feature, Missing::dropped});
    if (coverage.unswept_sample > 0 && needs_sample(places_, coverage.sample_size())) sweep_sample(coverage);
    const Task task = start(coverage, gradients, places_, incumbent, root_noise, interrupt);
    const auto winner = best_candidate(task, places_, candidates_);
    if (!winner) return std::nullopt;
    const Place& place = places_[winner->place];
    const Split where = split(task, place, *winner);
    return Refinement{condition(place, where, winner->position), where, winner->quality};
}

std::optional<Search::Division> Search::divide(const Coverage& coverage, const Gradients& gradients,
                                               const std::vector<std::int32_t>& features, double incumbent,
                                               double root_noise, Interrupt& interrupt) {
    places_.clear();
    for (const std::int32_t feature : features) {
        places_.push_back({feature, Missing::left});
        if (!column(places_.back()).missing.empty()) places_.push_back({feature, Missing::right});
    }
    const Task task = start(coverage, gradients, places_, {incumbent, incumbent}, root_noise, interrupt);
    const auto winner = best_candidate(task, places_, candidates_);
    if (!winner) return std::nullopt;
    const Place& place = places_[winner->place];
    const AlignedVector& quality = candidates_[winner->place].quality;
    const std::size_t left = 2 * winner->position;
    Division division{condition(place, split(task, place, {winner->place, left, {}}), left), place.missing == Missing::left,
                      false, quality[left], quality[left + 1]};
    division.missing_seen = !scratch_[0].listing->missing().empty();
    return division;
}

double Search::quality(const Region& region, Interrupt& interrupt) {
    const ActivityScope evaluating(activity(), Activity::evaluating);
    Scratch& scratch = scratch_[0];
    double quality = 0.0;
    scratch.scorer.begin(kNoise * region.weight, interrupt);
    if (form_.sets != nullptr) form_.sets->to_joint(region.total.data(), scratch.joint.data());
    scratch.scorer.add(form_.sets != nullptr ? scratch.joint.data() : region.total.data(), nullptr, &quality);
    scratch.scorer.flush();
    return quality;
}

Split Search::split(const Task& task, const Place& place, const Winner& winner) {
    const Column& column = this->column(place);
    if (candidates_[winner.place].by_rank) {
        const auto below = static_cast<std::int32_t>(winner.position / 2);
        const auto is_sampled = [&](std::int32_t example) {
            return task.coverage.sampled[static_cast<std::size_t>(example)] != 0;
        };
        const auto behind = std::ranges::upper_bound(column.rank, below) - column.rank.begin();
        const auto next = std::find_if(column.example.begin() + behind, column.example.end(), is_sampled);
        const std::int32_t above = column.rank[static_cast<std::size_t>(next - column.example.begin())];
        return {below, above};
    }
    Scratch& scratch = scratch_[0];
    scratch.place = winner.place;
    list_wanted(task, column, scratch, {});
    return scratch.listing->split(winner.position / 2, column);
}

Condition Search::condition(const Place& place, Split split, std::size_t position) const {
    const Column& column = this->column(place);
    const bool first = position % 2 == 0;
    if (column.nominal) {
        return {place.feature, first ? Operator::equal : Operator::not_equal,
                column.low[static_cast<std::size_t>(split.below)]};
    }
    return {place.feature, first ? Operator::less_equal : Operator::greater, threshold(column, split)};
}

Search::Task Search::start(const Coverage& coverage, const Gradients& gradients, const std::vector<Place>& places,
                           QualityRange incumbent, double root_noise, Interrupt& interrupt) {
    constexpr std::size_t kMostListed = 1U << 17;
    std::size_t listed = 0;
    for (const Place& place : places) listed += column(place).listed();
    kept_.possible = listed <= kMostListed;
    kept_.of_place.assign(places.size(), nullptr);
    for (Scratch& scratch : scratch_) scratch.kept_listings.forget_all();
    candidates_.resize(places.size());
    for (FeatureCandidates& feature : candidates_) feature.reset();
    reached_ = 0.0f;
    const auto may_be_long = [&](const Place& place) {
        return !column(place).nominal && column(place).ranks() > Screening::kFewestSplits;
    };
    few_long_ = std::ranges::count_if(places, may_be_long) < static_cast<std::ptrdiff_t>(kShortLists);
    if (needs_sample_rows(places, coverage.sample_size())) {
        const ActivityScope summing(activity(), Activity::summing);
        sample_rows_.fill(gradients, coverage.weights, coverage.sample, pool_, interrupt);
    }
    Task task{coverage, gradients, incumbent, root_noise, interrupt, kept_, reached_};
    if (form_.with_slack) anchor(task, places);
    return task;
}

// The system of all that is covered is solved by one thread. Others list sparse features meanwhile, if that takes long.
void Search::anchor(Task& task, const std::vector<Place>& places) {
    constexpr std::size_t kManyLabels = 96;
    const auto solve = [&](std::size_t thread) {
        const ActivityScope evaluating(scratch_[thread].activity, Activity::evaluating);
        anchored_ = anchor_.prepare(task.coverage.total, kNoise * task.coverage.weight, task.interrupt);
    };
    const bool takes_long = form_.labels >= kManyLabels && !settings_.binned_candidates();
    if (takes_long && pool_.in_use() > 1 && kept_.possible) {
        const auto run_one = [&](std::size_t number, std::size_t thread) {
            if (number == 0) return solve(thread);
            const std::size_t place = number - 1;
            if (!column(places[place]).rank_of.empty()) return;  // perhaps no list of it is needed
            list(task, column(places[place]), scratch_for(places, place, thread));
        };
        pool_.run(places.size() + 1, task.interrupt, run_one, Deal::in_turn);
    } else {
        solve(0);
    }
    if (!task.incumbent.is_exact() && anchored_ && anchor_.head() != nullptr) {
        task.incumbent = {anchor_.quality(), anchor_.quality()};
    }
}

bool Search::needs_sample_rows(const std::vector<Place>& places, std::size_t sampled) const {
    return !sample_rows_.filled() && sample_rows_.possible(sampled) &&
           std::ranges::any_of(places, [&](const Place& place) { return SampleRows::useful(column(place), sampled); });
}

bool Search::needs_sample(const std::vector<Place>& places, std::size_t sampled) const {
    return needs_sample_rows(places, sampled) ||
           std::ranges::any_of(places, [&](const Place& place) { return !column(place).rank_of.empty(); });
}

// Positions of the features such that threads get the most work first, and little is left when the first one runs dry.
const std::vector<std::size_t>& Search::longest_first(const std::vector<Place>& places) {
    order_.resize(places.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (pool_.in_use() == 1) return order_;
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
        const auto length = [&](std::size_t i) { return column(places[i]).listed(); };
        return length(a) > length(b);
    });
    return order_;
}

// Unless only one candidate is left at some point, in the end the qualities of all that come within rounding of the best
// are exact; candidates that are certainly worse than that, or than the incumbent, may have an infinite one.
std::optional<Search::Winner> Search::find_candidates(const Task& task, const std::vector<Place>& places,
                                                      std::vector<FeatureCandidates>& candidates) {
    const double must_beat = less_rounding(task.incumbent.best, task.root_noise);
    const std::vector<std::size_t>& order = longest_first(places);
    const auto for_each_feature = [&](std::span<const std::size_t> features, const auto& work) {
        const auto run_one = [&](std::size_t number, std::size_t thread) {
            const std::size_t i = features[number];
            work(column(places[i]), scratch_for(places, i, thread), candidates[i]);
        };
        pool_.run(features.size(), task.interrupt, run_one, Deal::in_turn);
        score_rest(candidates);
    };
    const double noise = kNoise * task.coverage.weight;
    if (anchored_) rule_out(task, places, candidates);
    for (Scratch& scratch : scratch_) {
        scratch.scorer.begin(noise, task.interrupt);
        scratch.screening.begin_leaps(reach(task, candidates), task.coverage.total);
        if (!sample_rows_.filled()) continue;
        scratch.short_lists.begin(scratch.screening.task(noise, scratch.activity), task.coverage.total,
                                  reach(task, candidates));
    }
    if (packs_) screen_packed(task, places, candidates);
    if (blocks_) screen_blocks(task, places, candidates);
    scan_all(task, places, order, candidates);
    if (anchored_ && screens_) screen_bounded(task, places, order, candidates);
    if (packs_ || screens_) {
        take_findings(candidates);
        const double worst = (1.0 - kScreenMargin) * reach(task, candidates);
        promising_.clear();
        for (const std::size_t i : order) {
            if (candidates[i].drop_all_behind(worst)) promising_.push_back(i);
        }
        const auto only = only_contender(promising_, candidates);
        if (only && only->quality.worst < must_beat) return only;
        for_each_feature(promising_, [&](const Column& column, Scratch& scratch, FeatureCandidates& feature) {
            confirm(task, column, scratch, feature);
        });
    }
    // Only now, as bounds must be compared with exact qualities, not with screened ones.
    if (anchored_) {
        if (anchor_.head() != nullptr) narrow(task, places, candidates);
        const auto only = only_possible((1.0 - kBoundMargin) * reach(task, candidates), candidates);
        if (only && only->quality.worst < must_beat) return only;
        // The rests are the better ones as a rule: what they reach spares most parts a closer look.
        for (const Side side : {Side::rest, Side::part}) {
            settle(task, places, side, candidates);
            score_rest(candidates);
        }
    }
    return std::nullopt;
}

// Of the contenders, as screened, if nothing else comes near it.
std::optional<Search::Winner> Search::only_contender(const std::vector<std::size_t>& promising,
                                                     const std::vector<FeatureCandidates>& candidates) const {
    if (settings_.trees || promising.size() != 1 || candidates[promising.front()].contenders.size() != 1) {
        return std::nullopt;
    }
    const FeatureCandidates::Contender& contender = candidates[promising.front()].contenders.front();
    const QualityRange quality{(1.0 + kScreenMargin) * contender.quality, (1.0 - kScreenMargin) * contender.quality};
    if (!(quality.best > -kInfinity)) return std::nullopt;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto near = [&](double other) { return !(other > quality.worst); };
        if (i == promising.front()) continue;
        if (near(candidates[i].best) || std::ranges::any_of(candidates[i].optimistic, near)) return std::nullopt;
    }
    return Winner{promising.front(), contender.slot, quality};
}

// Of all candidates, by their bounds.
std::optional<Search::Winner> Search::only_possible(double limit,
                                                    const std::vector<FeatureCandidates>& candidates) const {
    std::optional<Winner> only;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const FeatureCandidates& feature = candidates[i];
        if (feature.best <= limit) return std::nullopt;
        for (std::size_t slot = 0; slot < feature.optimistic.size(); ++slot) {
            if (!(feature.optimistic[slot] <= limit)) continue;
            if (only) return std::nullopt;
            // What the feature attains is attained by this candidate: by any other one it would be possible, too.
            only = Winner{i, slot, {(1.0 + kBoundMargin) * feature.optimistic[slot], (1.0 - kBoundMargin) * feature.attained}};
        }
    }
    return only;
}

// Features are few, and one may take as long as several others: long ones, and the last ones, are cut in two, so that
// threads rarely wait for each other. Of n equal ones for two threads that is the last one, which is left over if n is odd.
void Search::cut(std::span<const Portion> longest_first, bool divisible) {
    constexpr std::size_t kPieces = 2;
    const std::size_t threads = pool_.in_use();
    std::size_t total = 0;
    for (const Portion& portion : longest_first) total += portion.length;
    parts_.clear();
    for (std::size_t number = 0; number < longest_first.size(); ++number) {
        const auto [place, length] = longest_first[number];
        const bool is_long = kPieces * threads * length > total;
        const bool in_two = divisible && threads > 1 && (is_long || number + threads > longest_first.size());
        const std::size_t pieces = in_two ? kPieces : 1;
        for (std::size_t piece = 0; piece < pieces; ++piece) parts_.push_back({.place = place, .piece = {piece, pieces}});
    }
}

// Long ones next to the first part, so that the first thread, which had to see to everything before, takes none of them.
void Search::add_errands() {
    for (const Errand& errand : errands_) {
        const auto place = errand.is_short || parts_.empty() ? parts_.end() : parts_.begin() + 1;
        parts_.insert(place, {0, {0, 1}, &errand});
    }
}

// Of the features about which nothing is known yet. Small searches take microseconds: for one thread nothing is cut or handed
// out.
void Search::scan_all(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                      std::vector<FeatureCandidates>& candidates) {
    if (pool_.in_use() > 1) {
        scan_together(task, places, order, candidates);
    } else {
        for (const std::size_t i : order) {
            if (candidates[i].is_known()) continue;
            task.interrupt.check();
            scan(task, column(places[i]), scratch_for(places, i, 0), {0, 1}, candidates[i]);
        }
        for (const Errand& errand : errands_) errand.run();
        finish_scan(task, scratch_.front());
    }
    errands_.clear();
    for (FeatureCandidates& feature : candidates) {
        if (!feature.is_known()) feature.best = best_known(feature);
    }
}

void Search::scan_together(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                           std::vector<FeatureCandidates>& candidates) {
    portions_.clear();
    for (const std::size_t i : order) {
        if (!candidates[i].is_known()) portions_.push_back({i, column(places[i]).listed()});
    }
    const bool several = screens_ && Screening::walks_several(settings_, task.coverage.sample_size());
    cut(portions_, !several);
    second_pieces_.resize(places.size());
    for (const Part& part : parts_) {
        if (part.piece.number > 0) second_pieces_[part.place].reset();
    }
    add_errands();
    const auto scan_part = [&](std::size_t number, std::size_t thread) {
        const auto [place, piece, errand] = parts_[number];
        if (errand != nullptr) {
            errand->run();
            return;
        }
        FeatureCandidates& found = piece.number == 0 ? candidates[place] : second_pieces_[place];
        scan(task, column(places[place]), scratch_for(places, place, thread), piece, found);
    };
    const auto finish = [&](std::size_t thread) { finish_scan(task, scratch_[thread]); };
    pool_.run(parts_.size(), task.interrupt, scan_part, finish, Deal::in_turn);
    for (const Part& part : parts_) {
        if (part.piece.number > 0) candidates[part.place].join(second_pieces_[part.place]);
    }
}

// Looks at what waits for more of its kind.
void Search::finish_scan(const Task& task, Scratch& scratch) {
    scratch.screening.finish_leaps(kNoise * task.coverage.weight, scratch.activity);
    if (sample_rows_.filled()) scratch.short_lists.finish();
    const ActivityScope evaluating(scratch.activity, Activity::evaluating);
    scratch.scorer.flush();
}

void Search::score_rest(std::vector<FeatureCandidates>& candidates) {
    const ActivityScope evaluating(activity(), Activity::evaluating);
    for (Scratch& scratch : scratch_) scratch.scorer.flush();  // what did not fill a batch
    for (FeatureCandidates& feature : candidates) feature.best = best_known(feature);
}

Search::Scratch& Search::scratch_for(const std::vector<Place>& places, std::size_t i, std::size_t thread) {
    scratch_[thread].missing_side = places[i].missing;
    scratch_[thread].place = i;
    return scratch_[thread];
}

// Hands what was found by leaps, or of short lists, to the features that it belongs to.
void Search::take_findings(std::vector<FeatureCandidates>& candidates) const {
    const auto take = [&](const ScreenFinding& finding) {
        FeatureCandidates& feature = candidates[finding.feature];
        const auto quality = static_cast<double>(finding.quality);
        feature.contenders.push_back({finding.slot, quality});
        if (quality > -kInfinity) feature.best = std::min(feature.best, quality);
    };
    for (const Scratch& scratch : scratch_) {
        std::ranges::for_each(scratch.screening.findings(), take);
        if (sample_rows_.filled()) std::ranges::for_each(scratch.short_lists.findings(), take);
    }
}

}  // namespace labelboost
