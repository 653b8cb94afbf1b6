// The greedy search for the conditions of one rule.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "activity.hpp"
#include "blocks.hpp"
#include "bounds.hpp"
#include "columns.hpp"
#include "listing.hpp"
#include "packed.hpp"
#include "residuals.hpp"
#include "scorer.hpp"
#include "screening.hpp"
#include "settings.hpp"
#include "short_lists.hpp"
#include "statistics.hpp"
#include "threads.hpp"
#include "trial_head.hpp"

namespace labelboost {

enum class Operator : std::uint8_t { less_equal, greater, equal, not_equal };

struct Condition {
    std::int32_t feature;
    Operator op;
    double value;
};

// Where the examples without a value of a feature belong: a rule drops them, a tree sends them one way.
enum class Missing : std::uint8_t { dropped, left, right };

// Where candidates are looked for.
struct Place {
    std::int32_t feature;
    Missing missing;
};

// What a rule covers while it grows, or a node of a tree.
struct Region {
    std::vector<std::int32_t> all;     // covered training examples, ascending
    std::vector<std::int32_t> sample;  // those of them in the sample
    AlignedVector total;               // sums over the sample
    double weight = 0.0;               // sum of weights of the sample
    double summed_weight = 0.0;        // the same when `total` was last summed up, not subtracted from
};

struct Coverage : Region {
    std::vector<double> weights;        // by example; stays as it was drawn when less is covered
    std::vector<std::uint8_t> sampled;  // by example; 1 for what is in `sample`, else 0
    // By example: how many of its tickets are in the sample; empty if every example has but one. For trees only.
    std::vector<std::uint32_t> multiplicity;
    // Examples that no longer belong to `sample`, and some to `all`, may be in the lists still, until these are swept: see
    // `restrict`.
    bool unswept_all = false;
    std::size_t unswept_sample = 0;  // how many
    // The last condition, if `all` has not been restricted to it yet.
    struct {
        const Column* column = nullptr;
        std::int32_t last_rank = 0;
        Operator op = Operator::equal;
    } unfiltered;

    std::size_t sample_size() const { return sample.size() - unswept_sample; }
    std::size_t count(const std::vector<std::int32_t>& examples) const {
        if (multiplicity.empty()) return examples.size();
        std::size_t counted = 0;
        for (const std::int32_t example : examples) counted += multiplicity[static_cast<std::size_t>(example)];
        return counted;
    }
};

// The qualities of the candidates of one feature, two per split. Infinite: not a candidate, or out of the question.
struct alignas(kApart) FeatureCandidates {
    AlignedVector quality;           // by slot; not for rules if there are contenders
    double best = std::numeric_limits<double>::infinity();  // of the qualities that are known
    bool by_rank = false;            // slots are those of ranks
    bool screened = false;           // `best` is nearly right only, and `contenders` is all that is known besides
    // If screened: what may be the best, with its approximate quality, or -infinity where the screening could not tell. For
    // rules their qualities are made exact in place: there are a few of them, and perhaps a million slots.
    using Contender = RankFinding;
    AlignedVectorOf<Contender> contenders;
    // If screened: forgets contenders that are worse than `limit`; whether any are left.
    bool drop_all_behind(double limit);
    bool by_histogram = false;       // bounds were found without a list of the examples
    AlignedVector optimistic;        // if bounded: the best quality that is possible; `quality` follows later
    double attained = std::numeric_limits<double>::infinity();  // if bounded: some candidate is as good as this
    // If bounded: the profiles of the parts before some of the pairs, to go on from there; empty: of nothing.
    struct Checkpoint {
        std::size_t pair;
        AlignedVector profile;
        bool with_pair = false;  // that of its own part
    };
    std::vector<Checkpoint> checkpoints;
    std::size_t walkable = 0;        // if bounded: the examples of its list, if that could be screened as well

    // As if new, but with the memory that it has.
    void reset();
    void forget_bounds();
    // Unless its bound has ruled out a candidate, and was made infinite.
    bool is_possible(std::size_t slot) const {
        return optimistic.empty() || optimistic[slot] < std::numeric_limits<double>::infinity();
    }
    // Whether its candidates have been looked at without a list of their examples, or a list was screened.
    bool is_known() const { return screened || by_histogram; }
    // How good the candidate at a position is: for rules one side of a split, for trees both of them together.
    std::size_t positions(bool trees) const { return trees ? quality.size() / 2 : quality.size(); }
    double value(std::size_t position, bool trees) const {
        return trees ? quality[2 * position] + quality[2 * position + 1] : quality[position];
    }
    // Whether qualities are those of the contenders; these are in the order of their slots then.
    bool by_contender(bool trees) const { return !trees && !contenders.empty(); }
    // Where the quality of a slot stands; that of a contender if there are any.
    double* place_of(std::size_t slot, bool trees);
    // The first position with a quality up to `limit`, of which there must be one, and that quality.
    std::pair<std::size_t, double> first_up_to(double limit, bool trees) const;
    // Takes over what another thread found out about other candidates of the feature.
    void join(const FeatureCandidates& other);
};

// How far, relatively, an approximate quality may be off: generous for what the screening vouches for.
constexpr double kScreenMargin = 1e-3;

// Where the quality of a candidate lies, as far as that had to be found out.
struct QualityRange {
    double best, worst;
    bool is_exact() const { return best == worst; }
};

struct Piece {
    std::size_t number, of;
};

class Search {
public:
    Search(const Columns& columns, const Settings& settings, const Form& form, ThreadPool& pool);

    // What the thread that owns the search is doing.
    ActivityMark& activity() { return scratch_.front().activity; }

    // The best condition to add to a rule with this coverage, and its quality, or nothing if none is better
    // than `incumbent`, the quality of the coverage, by more than rounding. `features`: in the order that decides ties.
    struct Refinement {
        Condition condition;
        Split split;  // the ranks that it separates
        QualityRange quality;
    };
    std::optional<Refinement> refine(Coverage& coverage, const Gradients& gradients,
                                     const std::vector<std::int32_t>& features, QualityRange incumbent,
                                     double root_noise, Interrupt& interrupt);

    // The same for a node of a tree: the best way to divide it in two. `incumbent`: the quality of the node undivided.
    struct Division {
        Condition condition;  // of the left part
        bool missing_left;
        bool missing_seen;  // otherwise it does not matter here where missing values go
        double left_quality, right_quality;
    };
    std::optional<Division> divide(const Coverage& coverage, const Gradients& gradients,
                                   const std::vector<std::int32_t>& features, double incumbent, double root_noise,
                                   Interrupt& interrupt);
    // The quality of everything covered.
    double quality(const Region& region, Interrupt& interrupt);
    // Puts examples (some of those covered) on the side of a division where they belong.
    void partition(const Division& division, const std::vector<std::int32_t>& examples, std::vector<std::int32_t>& left,
                   std::vector<std::int32_t>& right);
    // Sums up the samples of the two parts of a region.
    void sum_up_parts(const Region& whole, Region& left, Region& right, const std::vector<double>& weights,
                      const Gradients& gradients, Interrupt& interrupt);

    // Starts a rule: sums up its sample.
    void begin_rule(Coverage& coverage, const Gradients& gradients, Interrupt& interrupt);
    // Sums up the sample of a region; weights: by example.
    void sum_up(Region& region, const std::vector<double>& weights, const Gradients& gradients, Interrupt& interrupt);
    // Restricts the coverage to the examples that satisfy the condition. What a sparse feature drops is only marked if that
    // is less than what it keeps: the lists of a sample that has hardly shrunk take longer to go through than all else. And
    // no search needs to know what is covered outside the sample: that is seen to while the next one is going on.
    void restrict(Coverage& coverage, const Refinement& refinement, const Gradients& gradients, Interrupt& interrupt);
    // Brings the list of all that is covered up to date, at the end of the rule.
    void complete(Coverage& coverage) const;
    // Something else to do during the next search, on whichever thread has time. It must leave alone what searches look at,
    // and is forgotten if that search is interrupted, or if no other one follows in the same rule. Short ones are left for
    // who would wait for the others in the end.
    struct Errand {
        bool is_short;
        std::function<void()> run;
    };
    void also(Errand errand) { errands_.push_back(std::move(errand)); }

private:
    // Lists that stay where they are while more of them are made, and their memory for later searches.
    class ListingStore {
    public:
        Listing& next() {
            if (used_ == listings_.size()) listings_.emplace_back();
            return listings_[used_++];
        }
        void forget_all() { used_ = 0; }

    private:
        std::deque<Listing> listings_;
        std::size_t used_ = 0;
    };
    struct alignas(kApart) Scratch {  // per thread
        CandidateScorer scorer;
        Screening screening;
        ShortLists short_lists;
        ProfileWalk walk;
        TrialHead trial;
        Listing own_listing;
        ListingStore kept_listings;
        Listing* listing = nullptr;  // of the feature at hand: its own, or one that is kept
        AlignedVector total;        // of all covered examples with a value, in the form of systems
        AlignedVector sums, joint;  // of a part, and for label sets in that form
        AlignedVector missing;      // the sums of the examples without a value, if they belong to a side
        double missing_weight = 0.0;
        AlignedVector products;
        std::vector<Screening::WalkSplit> splits;
        Wanted wanted;
        double total_weight = 0.0;  // of the examples in `total`
        double reached = 0.0;  // the best quality that this thread knows of
        double work = 0.0;
        std::size_t place = 0;  // the number of the feature
        Missing missing_side = Missing::dropped;
        PackedScorer packed;
        RankAdder adder;
        SortScratch sorting;
        std::vector<std::int32_t> some;  // examples
        ActivityMark activity;

        Scratch(const Form& form, const Settings& settings, std::size_t row_size)
            : scorer(form.of_systems(), settings),
              screening(form, settings),
              short_lists(form, settings),
              walk(form, settings),
              trial(form.of_systems(), settings),
              total(form.of_systems().size()),
              sums(form.size()),
              joint(form.sets != nullptr ? form.of_systems().size() : 0),
              missing(settings.trees ? form.size() : 0),
              packed(form, settings, row_size) {}

        // Whether examples without a value belong to the part of a pair.
        bool missing_in_part(std::uint32_t part_slot) const {
            return missing_side == (part_slot % 2 == 0 ? Missing::left : Missing::right);
        }
        // The numbers of examples on both sides of a pair, those without a value included where they belong to one.
        std::size_t part_count(const CandidatePair& pair) const {
            return pair.part_count + (missing_in_part(pair.part_slot) ? listing->missing_count() : 0);
        }
        std::size_t rest_count(const CandidatePair& pair) const {
            return pair.rest_count + (missing_in_part(pair.rest_slot()) ? listing->missing_count() : 0);
        }
    };
    // Unless they are too long: so that a feature's examples need to be listed but once in a search.
    struct KeptListings {
        bool possible = false;
        std::vector<Listing*> of_place;  // null: not made yet
    };
    struct alignas(kApart) Task {  // read by all threads, so it lies apart from what one of them writes
        const Coverage& coverage;
        const Gradients& gradients;
        QualityRange incumbent;
        double root_noise;
        Interrupt& interrupt;
        KeptListings& kept;
        std::atomic<float>& reached;  // by leaps, of all threads: what is worse need not be looked at
    };
    enum class Side { part, rest };

    struct Winner {
        std::size_t place, position;
        QualityRange quality;
    };
    // Where the winner cuts its feature.
    Split split(const Task& task, const Place& place, const Winner& winner);
    Condition condition(const Place& place, Split split, std::size_t position) const;
    // The first of the best candidates, if it is better than the incumbent.
    std::optional<Winner> best_candidate(const Task& task, const std::vector<Place>& places,
                                         std::vector<FeatureCandidates>& candidates);
    bool is_better(double quality, const Task& task);
    static RankedExamples ranked(const Task& task) {
        const Coverage& coverage = task.coverage;
        return {task.gradients, coverage.weights, coverage.sampled, coverage.sample, coverage.total};
    }
    // What a search needs to know, with nothing listed and no candidates yet.
    Task start(const Coverage& coverage, const Gradients& gradients, const std::vector<Place>& places,
               QualityRange incumbent, double root_noise, Interrupt& interrupt);
    void anchor(Task& task, const std::vector<Place>& places);
    // Returns the best candidate if it is the only one left, and better than the incumbent.
    std::optional<Winner> find_candidates(const Task& task, const std::vector<Place>& places,
                                          std::vector<FeatureCandidates>& candidates);
    std::optional<Winner> only_contender(const std::vector<std::size_t>& promising,
                                         const std::vector<FeatureCandidates>& candidates) const;
    std::optional<Winner> only_possible(double limit, const std::vector<FeatureCandidates>& candidates) const;
    const Column& column(const Place& place) const { return columns_.features[static_cast<std::size_t>(place.feature)]; }
    void filter(Coverage& coverage, const Column& column, const RankRange& keeps);
    void mark(Coverage& coverage, const Column& column, const RankRange& keeps);
    static void filter_all(Coverage& coverage);
    static void sweep_sample(Coverage& coverage);
    void sort_dropped();
    bool needs_sample_rows(const std::vector<Place>& places, std::size_t sampled) const;
    // Whether a search among these features goes through the list of the sample, not only through those of the features.
    bool needs_sample(const std::vector<Place>& places, std::size_t sampled) const;
    void drop_from_total(Coverage& coverage, const std::vector<std::int32_t>& dropped, const Gradients& gradients,
                         Interrupt& interrupt);
    // What is reached so far: a candidate must be as good to be the best.
    static double reach(const Task& task, const std::vector<FeatureCandidates>& candidates);
    // work(i, scratch), for each feature of a group.
    template <typename Work>
    void run_group(const Task& task, std::span<const std::size_t> group, const Work& work);
    template <typename Work>
    void for_each_share(std::span<const std::size_t> features, const Work& work, Interrupt& interrupt);
    // Bounds what can be bounded with histograms of residuals, and leaves what may be the best by many of its candidates.
    void rule_out(const Task& task, const std::vector<Place>& places,
                  std::vector<FeatureCandidates>& candidates);
    void bound_by_histograms(const Task& task, const std::vector<Place>& places, std::span<const std::size_t> features,
                             std::vector<FeatureCandidates>& candidates);
    void bound(const Task& task, Scratch& scratch, const RankHistogram& histogram, FeatureCandidates& out) const;
    // Screens what is left, as far as that can be done with packed rows.
    void screen_packed(const Task& task, const std::vector<Place>& places, std::vector<FeatureCandidates>& candidates);
    // The same for label-wise training, by blocks of ranks.
    void screen_blocks(const Task& task, const std::vector<Place>& places, std::vector<FeatureCandidates>& candidates);
    double best_known(const FeatureCandidates& feature) const;
    const std::vector<std::size_t>& longest_first(const std::vector<Place>& places);
    // What there is to do for a feature, in any unit, and a part of that.
    struct Portion {
        std::size_t place, length;
    };
    struct Part {
        std::size_t place;
        Piece piece;
        const Errand* errand = nullptr;  // if it is that instead
    };
    void cut(std::span<const Portion> longest_first, bool divisible);  // into parts_
    void add_errands();
    void scan_all(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                  std::vector<FeatureCandidates>& candidates);
    void scan_together(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                       std::vector<FeatureCandidates>& candidates);
    void finish_scan(const Task& task, Scratch& scratch);
    void score_rest(std::vector<FeatureCandidates>& candidates);
    Scratch& scratch_for(const std::vector<Place>& places, std::size_t i, std::size_t thread);
    void take_findings(std::vector<FeatureCandidates>& candidates) const;
    // Lists the examples of the feature at `scratch.place`, for a piece of it.
    void list(const Task& task, const Column& column, Scratch& scratch, Piece piece = {0, 1}) const;
    void scan(const Task& task, const Column& column, Scratch& scratch, Piece piece, FeatureCandidates& out) const;
    struct Share {
        std::size_t begin, end;
    };
    template <typename IsWanted>
    Share share(const Listing& listing, std::span<const CandidatePair> pairs, const IsWanted& is_wanted, Piece piece) const;
    // wanted: which candidates to score, of which this is a piece; null for all.
    void scan_exactly(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, const Wanted* wanted,
                      FeatureCandidates& out, Piece piece = {0, 1}) const;
    void screen(const Task& task, Scratch& scratch, Piece piece, FeatureCandidates& out) const;
    struct Sides {  // of the splits that are to be looked at: the growing regions before them, or what is behind
        bool before = true, behind = true;
    };
    static void leave_out(std::vector<Screening::WalkSplit>& splits, Sides sides, const FeatureCandidates& bounded);
    void screen_list(const Task& task, Scratch& scratch, Piece piece, Sides sides, FeatureCandidates& out) const;
    void screen_runs(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, Sides sides,
                     FeatureCandidates& out) const;
    // Screens the splits in `scratch`.
    void walk_along(const Task& task, Scratch& scratch, bool from_the_back, FeatureCandidates& out) const;
    // Whether a side with so many examples is a candidate, or if both sides are wanted, whether both are large enough.
    bool eligible(std::size_t count, std::size_t other) const {
        return count >= least_coverage() && (!settings_.trees || other >= least_coverage());
    }
    // Most candidates are far from the best of those that were walked along with them, and are forgotten at once.
    // for_each_candidate(visit): calls visit(slot, quality).
    template <typename ForEach>
    static void note_contenders(const ForEach& for_each_candidate, FeatureCandidates& out) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        double best = kInfinity;
        for_each_candidate([&](std::uint32_t, double quality) {
            if (quality > -kInfinity) best = std::min(best, quality);
        });
        const double limit = (1.0 - kScreenMargin) * best;
        for_each_candidate([&](std::uint32_t slot, double quality) {
            if (quality <= limit) out.contenders.push_back({slot, quality});
        });
        out.best = std::min(out.best, best);
        out.screened = true;
    }
    void bound(const Task& task, Scratch& scratch, std::span<const CandidatePair> pairs, FeatureCandidates& out) const;
    // Lists what is needed to score the wanted candidates.
    void list_wanted(const Task& task, const Column& column, Scratch& scratch, const Wanted& wanted) const;
    // Makes those qualities exact that may be the best, and leaves or makes the others infinite: of a screened feature
    // those of the contenders, and of one side of the splits of bounded features, if they come near what is reached.
    void confirm(const Task& task, const Column& column, Scratch& scratch, FeatureCandidates& out) const;
    void settle(const Task& task, const std::vector<Place>& places, Side side,
                std::vector<FeatureCandidates>& candidates);
    // Before that: looks by leaps at features with long lists of which bounds have left many candidates.
    void screen_bounded(const Task& task, const std::vector<Place>& places, const std::vector<std::size_t>& order,
                        std::vector<FeatureCandidates>& candidates);
    // Then, without label bins: brings the bounds of those that may be the best closer together.
    void narrow(const Task& task, const std::vector<Place>& places, std::vector<FeatureCandidates>& candidates);
    static GainBounds settle_gain(Scratch& scratch, Side side, double tolerance);
    struct Segment {  // pairs of a feature, from one checkpoint to the next
        Side side;
        std::size_t place, begin, end;
        const FeatureCandidates::Checkpoint* from;
        double optimistic;  // the best quality that is possible
        double attained = std::numeric_limits<double>::infinity();  // some candidate is found to be as good as this
    };
    template <typename Visit>
    void run_segments(const Task& task, const std::vector<Place>& places, const std::atomic<double>& reached,
                      std::vector<Segment>& segments, const Visit& visit);
    template <typename Visit>
    void walk_segment(const Task& task, const Segment& segment, Scratch& scratch, std::atomic<double>& reached,
                      const FeatureCandidates& feature, const Visit& visit) const;
    void settle_segment(const Task& task, const Segment& segment, Scratch& scratch, std::atomic<double>& reached,
                        FeatureCandidates& out, Wanted& left_over) const;
    // The segments with a candidate up to `limit`, or all of them as one where the listing is not kept.
    void find_segments(const Task& task, std::size_t place, Side side, double limit, const FeatureCandidates& feature,
                       std::vector<Segment>& out) const;
    static std::uint32_t slot(const CandidatePair& pair, Side side) {
        return side == Side::part ? pair.part_slot : pair.rest_slot();
    }
    bool settle_one(const Task& task, Scratch& scratch, Side side, double& quality) const;
    bool one_by_one_pays(Listing& listing) const;
    void form_binned_system(const Task& task, Scratch& scratch, Side side) const;
    // With label bins: bounds on the gain of a side of the pair at hand that are close to each other.
    GainBounds try_head(const Task& task, Scratch& scratch, Side side) const;
    // The sums of all covered examples that belong to a side.
    void total_up(const Task& task, Scratch& scratch) const;
    // Emits the candidates of a pair with the sums of its part in `scratch.sums`; null: not wanted.
    void emit(Scratch& scratch, const CandidatePair& pair, double* part_quality, double* rest_quality,
              Interrupt& interrupt) const;
    static void count_work(Scratch& scratch, double work, Interrupt& interrupt);
    std::size_t least_coverage() const { return std::max<std::size_t>(settings_.min_coverage, 1); }

    const Columns& columns_;
    const Settings& settings_;
    Form form_;
    ThreadPool& pool_;
    Anchor anchor_;
    bool anchored_ = false;
    std::vector<Scratch> scratch_;  // per thread
    // Kept from one search to the next for the memory that they have: searches take microseconds.
    std::vector<Place> places_;
    std::vector<std::size_t> order_, promising_;  // numbers of places
    std::vector<Portion> portions_;
    std::vector<Part> parts_;
    std::vector<FeatureCandidates> candidates_, second_pieces_;  // by place
    std::vector<Wanted> left_over_;                              // by place
    KeptListings kept_;
    alignas(kApart) std::atomic<float> reached_{0.0f};
    alignas(kApart) SampleRows sample_rows_;
    bool few_long_ = false;  // too few features of a search have many values for leaps along several lists at once
    std::vector<std::uint8_t> dropped_;  // by example: 1 if a sparse feature dropped it; or whatever else comes in passing
    std::vector<std::int32_t> dropped_sample_;
    std::vector<std::uint64_t> bits_;  // by example, 0 between calls
    std::vector<Errand> errands_;
    ResidualBounds residual_bounds_;
    std::vector<RankHistogram> histograms_;  // by place
    std::size_t bounds_skipped_ = 0, bounds_to_skip_ = 0;
    std::vector<BlockedFeature> blocked_;  // by place
    std::size_t blocks_skipped_ = 0, blocks_to_skip_ = 0;
    PackedRows packed_rows_;
    const bool screens_, blocks_;          // whether features can be screened, and by blocks
    bool packs_ = false;                   // whether packed rows are worth a look for any feature
    std::vector<PackedFeature> packed_;    // by place
    std::vector<std::int32_t> position_;   // by example: its number in the node, while it is looked at
};

}  // namespace labelboost
