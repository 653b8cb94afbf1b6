#include "booster.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bounds.hpp"
#include "random.hpp"
#include "screening.hpp"

namespace labelboost {
namespace {

constexpr std::uint64_t kBootstrapPurpose = 0;
constexpr std::uint64_t kFeaturePurpose = 1;  // plus the number of the condition

// Gradients of rules for single labels are needed in double precision for the chosen label only, and are found from its
// scores. The others decide between labels and conditions: single precision is as good for that, unless the second
// derivatives |g| (1 - |g|) of examples with |g| next to 1 count. They do where steps are huge or an L2 term is missing.
Precisions needed_precisions(const Settings& settings, const Form& form, const Columns& columns,
                             const std::vector<double>& weights) {
    constexpr double kLeastL2 = 0.01;
    const double mean_weight = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    const bool rounded = settings.separate_labels() && settings.single_head && settings.learning_rate <= 1.0 &&
                         settings.l2 >= kLeastL2 * mean_weight;
    return {!rounded, rounded || Screening::useful(form, settings, columns)};
}

// What conditions are searched with, which need not be what heads are found with.
Form division_form(const Settings& settings, const Form& form) {
    return settings.flat_divisions ? Form{.joint = false, .labels = form.labels, .flat = true} : form;
}

}  // namespace

Booster::Booster(std::shared_ptr<const Columns> columns, std::span<const std::uint8_t> labels,
                 std::vector<double> weights, LabelSets sets, std::vector<std::int32_t> tickets,
                 const Settings& settings, std::size_t threads, bool profiled, Interrupt& interrupt)
    : columns_(std::move(columns)),
      labels_count_(labels.size() / columns_->examples),
      weights_(std::move(weights)),
      total_weight_(std::accumulate(weights_.begin(), weights_.end(), 0.0)),
      sets_(std::move(sets)),
      tickets_(std::move(tickets)),
      ticket_weights_(weights_),
      settings_(settings),
      form_{settings.joint(), labels_count_, bounds_possible(settings, labels_count_, *columns_),
            settings.joint() && settings.loss == Loss::labelset_softmax ? &sets_ : nullptr},
      pool_(threads),
      gradients_(columns_->examples, labels_count_,
                 needed_precisions(settings_, division_form(settings_, form_), *columns_, weights_)),
      scores_(settings_.separate_labels() ? 0 : columns_->examples, labels_count_),
      everything_(columns_->examples),
      permutation_(columns_->features.size()),
      search_(*columns_, settings_, division_form(settings_, form_), pool_),
      head_system_(form_, settings_) {
    std::iota(everything_.begin(), everything_.end(), 0);
    std::iota(permutation_.begin(), permutation_.end(), 0);
    if (!tickets_.empty()) {
        std::vector<double> counts(columns_->examples, 0.0);
        for (const std::int32_t example : tickets_) counts[static_cast<std::size_t>(example)] += 1.0;
        for (std::size_t n = 0; n < counts.size(); ++n) ticket_weights_[n] /= counts[n];
    }
    interrupt.check();
    if (profiled) profiler_.emplace(search_.activity());
    if (settings_.separate_labels()) {
        label_scores_ = LabelScores(labels, labels_count_);
        std::vector<ChangedLabel> all;
        for (std::size_t k = 0; k < labels_count_; ++k) all.push_back({k, LabelScores::nothing()});
        update_label_gradients(everything_, all);
        return;
    }
    if (form_.sets != nullptr) {
        gradients_.add_distributions(sets_.size());
        if (settings_.flat_divisions) gradients_.add_differences(labels_count_);
    }
    signs_.assign(columns_->examples * padded_size(labels_count_), 0);
    for (std::size_t n = 0; n < columns_->examples; ++n) {
        const std::uint8_t* const relevant = labels.data() + n * labels_count_;
        std::int8_t* const signs = signs_.data() + n * padded_size(labels_count_);
        for (std::size_t k = 0; k < labels_count_; ++k) signs[k] = relevant[k] != 0 ? 1 : -1;
    }
    start_gradients(interrupt);
}

std::array<double, 3> Booster::activity_seconds() {
    return profiler_ ? profiler_->seconds() : std::array<double, 3>{};
}

LearnedRule Booster::add_default_rule(Interrupt& interrupt) {
    if (settings_.loss == Loss::labelset_softmax) {
        // The shares of the label sets are part of that loss already: nothing is left to a default rule. It is a step all
        // the same, as it is one when it is replayed.
        LearnedRule rule{{}, std::vector<double>(labels_count_, 0.0), everything_.size()};
        add_heads({{&everything_, &rule.head}}, interrupt);
        return rule;
    }
    if (settings_.trees) return add_best_constant(interrupt);
    double quality = 0.0;
    LearnedRule rule{{}, default_head(interrupt, &quality), everything_.size()};
    rule.gain = gain(quality, 1.0);
    add_heads({{&everything_, &rule.head}}, interrupt);
    return rule;
}

// Complete even where the other rules predict for one label only, and joint where the loss is.
std::vector<double> Booster::default_head(Interrupt& interrupt, double* quality) {
    const Form form{settings_.joint_loss(), labels_count_};
    const double noise = kNoise * total_weight_;
    BinnedSystem binned(form, settings_);
    return complete_head(form, gradients_, weights_, everything_, settings_, binned, noise, pool_, interrupt, quality);
}

// Trees are worth their conditions only where the same scores for all have nothing left to gain. One step may be far from
// that, or go too far, so there are several, each as long as it improves the loss.
LearnedRule Booster::add_best_constant(Interrupt& interrupt) {
    constexpr int kMostSteps = 20, kMostHalvings = 10;
    constexpr double kLeastGain = 1e-6;
    LearnedRule rule{{}, std::vector<double>(labels_count_, 0.0), everything_.size()};
    double loss = loss_at(rule.head);
    for (int step = 0; step < kMostSteps; ++step) {
        std::vector<double> head = default_head(interrupt);
        std::vector<double> scores(labels_count_);
        double reached = loss;
        for (int halving = 0; halving <= kMostHalvings; ++halving) {
            for (std::size_t k = 0; k < labels_count_; ++k) scores[k] = rule.head[k] + head[k];
            reached = loss_at(scores);
            if (reached < loss) break;
            for (double& score : head) score *= 0.5;
        }
        if (!(reached < loss)) break;
        add_heads({{&everything_, &head}}, interrupt);
        rule.head = scores;
        const double gained = loss - reached;
        rule.gain += gained;
        loss = reached;
        if (gained <= kLeastGain * loss) break;
    }
    if (!settings_.separate_labels()) {
        // As if there had been but one step, so that a replay of it comes to the same, bit by bit.
        scores_.reset();
        start_gradients(interrupt);
        add_heads({{&everything_, &rule.head}}, interrupt);
    }
    return rule;
}

// The gradients at scores of zero.
void Booster::start_gradients(Interrupt& interrupt) {
    const std::vector<double> nothing(labels_count_, 0.0);
    updates_ = 0;
    add_heads({{&everything_, &nothing}}, interrupt);
}

std::optional<LearnedRule> Booster::learn_rule(std::uint64_t attempt, Interrupt& interrupt) {
    ThreadTrial::Round round(trial_, pool_);
    if (drawn_attempt_ == attempt) {
        std::swap(coverage_, drawn_coverage_);
    } else {
        draw_sample(attempt, coverage_);
    }
    drawn_attempt_.reset();
    Coverage& coverage = coverage_;
    search_.begin_rule(coverage, gradients_, interrupt);
    if (settings_.bootstrap && pool_.in_use() > 1) {
        const auto draw_next = [this, attempt] {
            draw_sample(attempt + 1, drawn_coverage_);
            drawn_attempt_ = attempt + 1;
        };
        search_.also({.is_short = false, .run = draw_next});
    }
    const double root_noise = kNoise * coverage.weight;
    std::vector<Condition> conditions;
    QualityRange quality{0.0, 0.0};
    double noise = root_noise;
    while (settings_.max_conditions == 0 || conditions.size() < settings_.max_conditions) {
        round.count_search();
        const std::vector<std::int32_t>& features = draw_features(attempt, conditions.size());
        const auto refinement = search_.refine(coverage, gradients_, features, quality, root_noise, interrupt);
        if (!refinement) break;
        conditions.push_back(refinement->condition);
        quality = refinement->quality;
        noise = kNoise * coverage.weight;
        search_.restrict(coverage, *refinement, gradients_, interrupt);
    }
    if (conditions.empty()) return std::nullopt;
    search_.complete(coverage);
    double gained = 0.0;
    LearnedRule rule{std::move(conditions), rule_head(coverage, noise, gained, interrupt), coverage.all.size()};
    for (double& score : rule.head) score *= settings_.learning_rate;
    rule.gain = gain(gained, settings_.learning_rate);
    add_heads({{&coverage.all, &rule.head}}, interrupt);
    return rule;
}

std::optional<LearnedTree> Booster::learn_tree(std::uint64_t attempt, Interrupt& interrupt) {
    ThreadTrial::Round round(trial_, pool_);
    draw_sample(attempt, coverage_);
    TreeGrower grower(search_, settings_, gradients_, coverage_, interrupt,
                      [&](std::size_t node) {
                          round.count_search();
                          return draw_features(attempt, node);
                      });
    if (!grower.grow()) return std::nullopt;
    std::vector<ScoredRegion> leaves;
    LearnedTree tree{grower.take_nodes(), {}, {}};
    tree.heads.resize(tree.nodes.size());
    for (std::size_t n = 0; n < tree.nodes.size(); ++n) {
        if (!tree.nodes[n].is_leaf()) continue;
        const std::vector<std::int32_t>& covered = grower.covered(n);
        const double noise = kNoise * total_weight(weights_, covered);
        double quality = 0.0;
        tree.heads[n] =
            complete_head(form_, gradients_, weights_, covered, settings_, head_system_, noise, pool_, interrupt, &quality);
        tree.gains.push_back(gain(quality, settings_.learning_rate));
        for (double& score : tree.heads[n]) score *= settings_.learning_rate;
        leaves.push_back({&covered, &tree.heads[n]});
    }
    add_heads(leaves, interrupt);
    return tree;
}

// Solved again on all covered examples, in the sample or not. A single-label head keeps the label that the
// search chose (with its `noise`) on the sample.
std::vector<double> Booster::rule_head(const Coverage& coverage, double noise, double& quality, Interrupt& interrupt) {
    const double head_noise = kNoise * total_weight(weights_, coverage.all);
    if (!settings_.single_head) {
        return complete_head(form_, gradients_, weights_, coverage.all, settings_, head_system_, head_noise, pool_,
                             interrupt, &quality);
    }
    const std::size_t label = best_label(coverage.total.data(), labels_count_, settings_.l2, noise);
    const AlignedVector sums =
        sum_in_parts(coverage.all, 2, pool_, interrupt, [&](std::span<const std::int32_t> part, double* out) {
            constexpr std::size_t kPart = 256;
            double gradients[kPart];
            for (std::size_t begin = 0; begin < part.size(); begin += kPart) {
                const std::span<const std::int32_t> some = part.subspan(begin, std::min(kPart, part.size() - begin));
                copy_gradients(some, label, gradients);
                for (std::size_t i = 0; i < some.size(); ++i) {
                    const double weight = weights_[static_cast<std::size_t>(some[i])];
                    const double size = std::abs(gradients[i]);
                    out[0] += weight * gradients[i];
                    out[1] += weight * size * (1.0 - size);
                }
            }
        });
    std::vector<double> head(labels_count_, 0.0);
    head[label] = single_score(sums[0], sums[1], settings_.l2, head_noise);
    quality = 0.5 * head[label] * sums[0];
    return head;
}

// The objective is a parabola along a head, lowest at the head itself, where it is `quality`; only so large a `step`
// is taken. A step beyond 2 promises nothing but a loss.
double Booster::gain(double quality, double step) const { return step * (step - 2.0) * quality / total_weight_; }

// The gradients of one label, in double precision.
void Booster::copy_gradients(std::span<const std::int32_t> examples, std::size_t label, double* out) const {
    if (settings_.separate_labels()) {
        label_scores_.gradients(label, examples, out);
    } else {
        for (std::size_t i = 0; i < examples.size(); ++i) out[i] = gradients_.row(examples[i])[label];
    }
}

void Booster::replay(const std::vector<std::vector<std::int32_t>>& covered,
                     const std::vector<std::vector<double>>& heads, Interrupt& interrupt) {
    std::vector<ScoredRegion> regions;
    for (std::size_t i = 0; i < covered.size(); ++i) regions.push_back({&covered[i], &heads[i]});
    add_heads(regions, interrupt);
}

template <typename CopyScores>
double Booster::mean_loss_of(const CopyScores& copy_scores_of) const {
    const std::size_t padded = padded_size(labels_count_);
    AlignedVector scores(padded, 0.0), scratch(padded);
    AlignedVector probabilities(padded_size(sets_.size()));
    std::vector<std::int8_t> signs(padded, 0);
    double total = 0.0;
    for (std::size_t n = 0; n < columns_->examples; ++n) {
        copy_scores_of(n, scores.data());
        if (settings_.loss == Loss::labelset_softmax) {
            sets_.distribution(scores.data(), probabilities.data());
            // The smallest number there is stands for what has vanished.
            const double own = probabilities[sets_.set_of(static_cast<std::int32_t>(n))];
            total -= weights_[n] * std::log(std::max(own, std::numeric_limits<double>::min()));
            continue;
        }
        for (std::size_t k = 0; k < labels_count_; ++k) {
            signs[k] = settings_.separate_labels() ? label_scores_.sign(n, k) : signs_[n * padded + k];
        }
        total += weights_[n] *
                 active_kernels().loss_value(settings_.loss, scores.data(), signs.data(), padded, scratch.data());
    }
    return total / total_weight_;
}

double Booster::mean_loss() const {
    return mean_loss_of([this](std::size_t example, double* out) { copy_scores(example, out); });
}

double Booster::loss_at(const std::vector<double>& scores) const {
    return mean_loss_of([&](std::size_t, double* out) { std::copy(scores.begin(), scores.end(), out); });
}

void Booster::copy_scores(std::size_t example, double* out) const {
    if (settings_.separate_labels()) {
        for (std::size_t k = 0; k < labels_count_; ++k) out[k] = label_scores_.score(example, k);
    } else {
        scores_.copy(example, labels_count_, out);
    }
}

void Booster::draw_sample(std::uint64_t attempt, Coverage& out) {
    const std::size_t examples = columns_->examples;
    out.all = everything_;
    if (!settings_.bootstrap) {
        if (settings_.subsample < 1.0) {
            draw_subsample(attempt, out);
        } else {
            out.sample = everything_;
            out.weights = weights_;
            out.sampled.assign(examples, 1);
        }
        if (settings_.trees && !tickets_.empty()) count_tickets(out);
        return;
    }
    constexpr std::size_t kTogether = 1024;
    std::uint32_t tickets_drawn[kTogether];
    const Stream stream(settings_.seed, attempt, kBootstrapPurpose);
    const std::size_t tickets = tickets_.empty() ? examples : tickets_.size();
    // Counted in small integers: at a million examples as many of them as possible should stay in the cache.
    times_drawn_.assign(examples, 0);
    for (std::size_t begin = 0; begin < tickets; begin += kTogether) {
        const std::size_t count = std::min(kTogether, tickets - begin);
        active_kernels().draw(stream.key(), begin, count, static_cast<std::uint32_t>(tickets), tickets_drawn);
        if (tickets_.empty()) {
            for (std::size_t i = 0; i < count; ++i) ++times_drawn_[tickets_drawn[i]];
        } else {
            for (std::size_t i = 0; i < count; ++i) ++times_drawn_[static_cast<std::size_t>(tickets_[tickets_drawn[i]])];
        }
    }
    out.weights.resize(examples);
    out.sample.resize(examples);
    out.sampled.resize(examples);
    std::size_t sampled = 0;
    for (std::size_t n = 0; n < examples; ++n) {
        const std::uint8_t in_sample = times_drawn_[n] > 0 ? 1 : 0;
        out.sample[sampled] = static_cast<std::int32_t>(n);
        out.sampled[n] = in_sample;
        out.weights[n] = static_cast<double>(times_drawn_[n]) * ticket_weights_[n];
        sampled += in_sample;
    }
    out.sample.resize(sampled);
}

// Without replacement: what the first steps of a shuffle bring to the front.
void Booster::draw_subsample(std::uint64_t attempt, Coverage& out) {
    const std::size_t examples = columns_->examples;
    std::vector<std::int32_t> shuffled = tickets_.empty() ? everything_ : tickets_;
    const double share = settings_.subsample * static_cast<double>(shuffled.size());
    const auto wanted = std::max<std::size_t>(static_cast<std::size_t>(share + 0.5), 1);
    const Stream stream(settings_.seed, attempt, kBootstrapPurpose);
    out.sampled.assign(examples, 0);
    out.weights.assign(examples, 0.0);
    for (std::size_t i = 0; i < wanted; ++i) {
        std::swap(shuffled[i], shuffled[i + stream.below(i, shuffled.size() - i)]);
        const auto example = static_cast<std::size_t>(shuffled[i]);
        out.sampled[example] = 1;
        out.weights[example] += ticket_weights_[example];
    }
    out.sample.clear();
    for (std::size_t n = 0; n < examples; ++n) {
        if (out.sampled[n] != 0) out.sample.push_back(static_cast<std::int32_t>(n));
    }
}

void Booster::count_tickets(Coverage& out) const {
    out.multiplicity.assign(columns_->examples, 0);
    for (const std::int32_t example : out.sample) {
        const auto n = static_cast<std::size_t>(example);
        out.multiplicity[n] = static_cast<std::uint32_t>(std::lround(out.weights[n] / ticket_weights_[n]));
    }
}

const std::vector<std::int32_t>& Booster::draw_features(std::uint64_t attempt, std::size_t condition) {
    const std::size_t features = permutation_.size();
    const std::size_t wanted = settings_.max_features;
    if (wanted == 0 || wanted >= features) return permutation_;
    const Stream stream(settings_.seed, attempt, kFeaturePurpose + condition);
    swapped_.resize(wanted);
    for (std::size_t i = 0; i < wanted; ++i) {
        swapped_[i] = i + stream.below(i, features - i);
        std::swap(permutation_[i], permutation_[swapped_[i]]);
    }
    drawn_.assign(permutation_.begin(), permutation_.begin() + static_cast<std::ptrdiff_t>(wanted));
    // Undone in reverse, so that each draw starts from the identity without writing all of it again.
    for (std::size_t i = wanted; i-- > 0;) std::swap(permutation_[i], permutation_[swapped_[i]]);
    return drawn_;
}

}  // namespace labelboost
