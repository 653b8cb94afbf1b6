// The greedy search for the conditions of one rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "columns.hpp"
#include "scorer.hpp"
#include "screening.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace labelboost {

enum class Operator : std::uint8_t { less_equal, greater, equal, not_equal };

struct Condition {
    std::int32_t feature;
    Operator op;
    double value;
};

// What a rule covers while it grows.
struct Coverage {
    std::vector<std::int32_t> all;     // covered training examples, ascending
    std::vector<std::int32_t> sample;  // those of them in the sample
    std::vector<double> weights;       // by example; zero for what is not in `sample`
    AlignedVector total;               // sums over the sample
    double weight = 0.0;               // sum of weights of the sample
    double summed_weight = 0.0;        // the same when `total` was last summed up, not subtracted from
};

// The candidates of one feature: two per split, whose ranks lie below and above the threshold (numeric), or
// two per category (nominal, `above` unused). Infinite quality: not a candidate.
struct FeatureCandidates {
    struct Split {
        std::int32_t below, above;
    };
    std::vector<Split> splits;
    std::vector<double> quality;
    bool approximate = false;  // the qualities come from screening; -infinity: it could not tell
};

class Search {
public:
    Search(const Columns& columns, const Settings& settings, const Form& form, ThreadPool& pool);

    // The best condition to add to a rule with this coverage, and its quality, or nothing if none is better
    // than `incumbent` by more than rounding. `features`: in the order that decides ties.
    struct Refinement {
        Condition condition;
        double quality;
    };
    std::optional<Refinement> refine(const Coverage& coverage, const Gradients& gradients,
                                     const std::vector<std::int32_t>& features, double incumbent, double root_noise,
                                     Interrupt& interrupt);

    // Sums up the sample of a new coverage.
    void sum_up(Coverage& coverage, const Gradients& gradients, Interrupt& interrupt) const;
    // Restricts the coverage to the examples that satisfy the condition.
    void restrict(Coverage& coverage, const Condition& condition, const Gradients& gradients, Interrupt& interrupt);

private:
    // The listed and covered examples of a feature, grouped by rank.
    struct Scratch {
        CandidateScorer scorer;
        Screening screening;
        AlignedVector total, sums;
        std::vector<std::int32_t> example, rank;
        std::vector<std::uint64_t> keys;
        struct Group {
            std::int32_t rank;
            std::size_t begin, end;  // into `example`; empty for the implicit group
            std::size_t count;
        };
        std::vector<Group> groups;
        double work = 0.0;

        Scratch(const Form& form, const Settings& settings)
            : scorer(form, settings), screening(form, settings), total(form.size()), sums(form.size()) {}
    };
    struct Task {
        const Coverage& coverage;
        const Gradients& gradients;
        Interrupt& interrupt;
    };

    void find_candidates(const Task& task, const std::vector<std::int32_t>& features, double incumbent,
                         std::vector<FeatureCandidates>& candidates);
    void drop_from_total(Coverage& coverage, const std::vector<std::int32_t>& dropped, const Gradients& gradients,
                         Interrupt& interrupt) const;
    void collect_groups(const Task& task, const Column& column, Scratch& scratch, std::size_t& missing) const;
    void scan(const Task& task, const Column& column, Scratch& scratch, FeatureCandidates& out) const;
    // Scores exactly those candidates of a screened feature that may be the best: with a quality up to `limit`.
    void confirm(const Task& task, const Column& column, Scratch& scratch, double limit, FeatureCandidates& out) const;
    // `wanted`: which candidates to score; null for all.
    void scan_numeric(const Task& task, Scratch& scratch, std::size_t present, const std::vector<bool>* wanted,
                      FeatureCandidates& out) const;
    void screen_numeric(const Task& task, Scratch& scratch, std::size_t present, FeatureCandidates& out) const;
    void scan_nominal(const Task& task, Scratch& scratch, std::size_t present, FeatureCandidates& out) const;
    void add_group(const Task& task, const Scratch::Group& group, Scratch& scratch) const;
    // Emits the candidate with the sums in `scratch.sums`, and the one with the rest.
    void emit(Scratch& scratch, std::size_t count, std::size_t rest, double* quality, double* rest_quality,
              Interrupt& interrupt) const;

    const Columns& columns_;
    const Settings& settings_;
    Form form_;
    ThreadPool& pool_;
    std::vector<Scratch> scratch_;           // per thread
    std::vector<std::int32_t> rank_lookup_;  // by example, for sparse features; kImplicit when unused
};

}  // namespace labelboost
