// Training: the state of the boosted scores, and one rule or tree at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "columns.hpp"
#include "example_scores.hpp"
#include "heads.hpp"
#include "label_scores.hpp"
#include "label_sets.hpp"
#include "profiler.hpp"
#include "search.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "thread_trial.hpp"
#include "threads.hpp"
#include "trees.hpp"

namespace labelboost {

struct LearnedRule {
    std::vector<Condition> conditions;
    std::vector<double> head;
    std::size_t coverage;
    // By how much the rule lowers the objective of training, per unit of weight, in the quadratic approximation.
    double gain = 0.0;
};

struct LearnedTree {
    std::vector<TreeNode> nodes;
    std::vector<std::vector<double>> heads;  // by node; empty for inner ones
    std::vector<double> gains;               // by leaf, as those of rules
};

class Booster {
public:
    // labels: examples x labels, 0 or 1; weights: positive; sets: for the loss over label sets. tickets: what samples are
    // drawn from, at least one per example, each of them the number of its example; if empty, every example has one.
    // All sizes must match (checked by the caller).
    Booster(std::shared_ptr<const Columns> columns, std::span<const std::uint8_t> labels,
            std::vector<double> weights, LabelSets sets, std::vector<std::int32_t> tickets, const Settings& settings,
            std::size_t threads, bool profiled, Interrupt& interrupt);

    // Covers everything; its complete head is not shrunk. For trees it is the best there is, else one step towards that.
    LearnedRule add_default_rule(Interrupt& interrupt);

    // Learns one rule from the sample that belongs to `attempt`, adds it, and returns it; nothing if no
    // condition improves on no rule at all. If interrupted, the state is as it was before the call.
    std::optional<LearnedRule> learn_rule(std::uint64_t attempt, Interrupt& interrupt);

    // The same for a tree; nothing if the root cannot be divided to advantage.
    std::optional<LearnedTree> learn_tree(std::uint64_t attempt, Interrupt& interrupt);
    // Adds what was learned before, one step of it: the heads of regions that do not overlap. Whoever repeats all steps in
    // their order, the default rule's included, arrives at the very state that training was in.
    void replay(const std::vector<std::vector<std::int32_t>>& covered, const std::vector<std::vector<double>>& heads,
                Interrupt& interrupt);

    // The weighted mean of the loss over the training examples, computed when asked for.
    double mean_loss() const;
    // Seconds by activity since the beginning; zeros if it is not profiled.
    std::array<double, 3> activity_seconds();
    bool grows_trees() const { return settings_.trees; }
    std::size_t examples() const { return columns_->examples; }
    std::size_t labels() const { return labels_count_; }
    void copy_scores(std::size_t example, double* out) const;

private:
    std::vector<double> default_head(Interrupt& interrupt, double* quality = nullptr);
    LearnedRule add_best_constant(Interrupt& interrupt);
    void start_gradients(Interrupt& interrupt);
    // The weighted mean of the loss if all examples had these scores, or those that copy_scores_of(example, out) gives.
    double loss_at(const std::vector<double>& scores) const;
    template <typename CopyScores>
    double mean_loss_of(const CopyScores& copy_scores_of) const;
    void draw_sample(std::uint64_t attempt, Coverage& out);
    void draw_subsample(std::uint64_t attempt, Coverage& out);
    void count_tickets(Coverage& out) const;  // those of the sample
    std::vector<double> rule_head(const Coverage& coverage, double noise, double& quality, Interrupt& interrupt);
    double gain(double quality, double step) const;
    // Valid until the next draw.
    const std::vector<std::int32_t>& draw_features(std::uint64_t attempt, std::size_t condition);
    // Adds heads to the scores of what they cover, as one step: nothing is covered twice.
    struct ScoredRegion {
        const std::vector<std::int32_t>* covered;
        const std::vector<double>* head;
    };
    void add_heads(const std::vector<ScoredRegion>& regions, Interrupt& interrupt);
    void add_head(const ScoredRegion& region, bool only, bool anew);
    struct ChangedLabel {
        std::size_t label;
        LabelScores::Addition addition;
    };
    void update_label_gradients(const std::vector<std::int32_t>& covered, const std::vector<ChangedLabel>& changed);
    void update_set_gradients(const std::vector<std::int32_t>& covered, const AlignedVector& head, bool anew);
    void find_differences(std::int32_t example);
    void copy_gradients(std::span<const std::int32_t> examples, std::size_t label, double* out) const;
    // work(some of the examples), in parallel; not to be interrupted.
    template <typename Work>
    void for_each_part(std::span<const std::int32_t> examples, const Work& work);

    std::shared_ptr<const Columns> columns_;
    std::size_t labels_count_;
    std::vector<double> weights_;
    double total_weight_;
    LabelSets sets_;
    std::vector<std::int32_t> tickets_;
    std::vector<double> ticket_weights_;  // of one ticket of each example
    Settings settings_;
    Form form_;
    ThreadPool pool_;
    ThreadTrial trial_;
    Gradients gradients_;
    // Scores and signs, either example by example or, for a loss that treats labels separately, label by label.
    ExampleScores scores_;
    std::vector<std::int8_t> signs_;  // +1 or -1 for each label of each example, padded with 0
    LabelScores label_scores_;
    std::size_t updates_ = 0;  // of scores and gradients of the example-wise loss
    std::vector<std::int32_t> everything_;   // 0 .. examples - 1
    std::vector<std::int32_t> permutation_;  // 0 .. features - 1, between calls
    std::vector<std::size_t> swapped_;  // while features are drawn
    std::vector<std::int32_t> drawn_;
    Coverage coverage_;  // of the rule that is being learned; kept for its memory
    // Of the attempt that is likely to come next, drawn in passing while threads share the search before.
    Coverage drawn_coverage_;
    std::optional<std::uint64_t> drawn_attempt_;
    std::vector<std::uint32_t> times_drawn_;  // by example: how often it was drawn
    Search search_;
    BinnedSystem head_system_;
    std::optional<Profiler> profiler_;
};

}  // namespace labelboost
