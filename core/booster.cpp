#include "booster.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "bounds.hpp"
#include "random.hpp"
#include "screening.hpp"

namespace labelboost {
namespace {

// Gradients are mostly advanced from the ones before; this often, and after the largest scores, they are computed anew
// from the scores, so that rounding errors do not add up and nothing that vanished is missed.
constexpr std::size_t kUpdatesBetweenExact = 64;
constexpr double kLargestAdvanced = 300.0;

constexpr std::uint64_t kBootstrapPurpose = 0;
constexpr std::uint64_t kFeaturePurpose = 1;  // plus the number of the condition

double total_weight(const std::vector<double>& weights, const std::vector<std::int32_t>& examples) {
    double total = 0.0;
    for (const std::int32_t example : examples) total += weights[static_cast<std::size_t>(example)];
    return total;
}

}  // namespace

Booster::Booster(std::shared_ptr<const Columns> columns, std::span<const std::uint8_t> labels,
                 std::vector<double> weights, const Settings& settings, std::size_t threads,
                 bool profiled, Interrupt& interrupt)
    : columns_(std::move(columns)),
      labels_count_(labels.size() / columns_->examples),
      signs_(columns_->examples * padded_size(labels_count_), 0),
      weights_(std::move(weights)),
      settings_(settings),
      form_{settings.joint(), labels_count_, bounds_possible(settings, labels_count_, columns_->any_binned())},
      pool_(threads),
      gradients_(columns_->examples, labels_count_, Screening::possible(form_, settings_)),
      scores_(columns_->examples, labels_count_),
      everything_(columns_->examples),
      permutation_(columns_->features.size()),
      search_(*columns_, settings_, form_, pool_) {
    std::iota(everything_.begin(), everything_.end(), 0);
    std::iota(permutation_.begin(), permutation_.end(), 0);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::size_t place = i / labels_count_ * padded_size(labels_count_) + i % labels_count_;
        signs_[place] = labels[i] != 0 ? 1 : -1;
    }
    interrupt.check();
    add_head(everything_, std::vector<double>(labels_count_, 0.0), interrupt);
    if (profiled) profiler_.emplace(search_.activity());
}

std::array<double, 3> Booster::activity_seconds() {
    return profiler_ ? profiler_->seconds() : std::array<double, 3>{};
}

LearnedRule Booster::add_default_rule(Interrupt& interrupt) {
    // Complete even where the other rules predict for one label only, and joint where the loss is.
    const Form form{settings_.loss == Loss::example_logistic, labels_count_};
    const double noise = kNoise * total_weight(weights_, everything_);
    LearnedRule rule{{},
                     complete_head(form, gradients_, weights_, everything_, settings_, noise, pool_, interrupt),
                     everything_.size()};
    add_head(everything_, rule.head, interrupt);
    return rule;
}

std::optional<LearnedRule> Booster::learn_rule(std::uint64_t attempt, Interrupt& interrupt) {
    draw_sample(attempt);
    Coverage& coverage = coverage_;
    search_.sum_up(coverage, gradients_, interrupt);
    const double root_noise = kNoise * coverage.weight;
    std::vector<Condition> conditions;
    double quality = 0.0;
    double noise = root_noise;
    while (settings_.max_conditions == 0 || conditions.size() < settings_.max_conditions) {
        const std::vector<std::int32_t> features = draw_features(attempt, conditions.size());
        const auto refinement = search_.refine(coverage, gradients_, features, quality, root_noise, interrupt);
        if (!refinement) break;
        conditions.push_back(refinement->condition);
        quality = refinement->quality;
        noise = kNoise * coverage.weight;
        search_.restrict(coverage, refinement->condition, gradients_, interrupt);
    }
    if (conditions.empty()) return std::nullopt;
    LearnedRule rule{std::move(conditions), rule_head(coverage, noise, interrupt), coverage.all.size()};
    for (double& score : rule.head) score *= settings_.learning_rate;
    add_head(coverage.all, rule.head, interrupt);
    return rule;
}

// Solved again on all covered examples, in the sample or not. A single-label head keeps the label that the
// search chose (with its `noise`) on the sample.
std::vector<double> Booster::rule_head(const Coverage& coverage, double noise, Interrupt& interrupt) {
    const double head_noise = kNoise * total_weight(weights_, coverage.all);
    if (!settings_.single_head) {
        return complete_head(form_, gradients_, weights_, coverage.all, settings_, head_noise, pool_, interrupt);
    }
    const std::size_t label = best_label(coverage.total.data(), labels_count_, settings_.l2, noise);
    double gradient = 0.0, hessian = 0.0;
    for (const std::int32_t example : coverage.all) {
        const double weight = weights_[static_cast<std::size_t>(example)];
        const double g = gradients_.row(example)[label];
        gradient += weight * g;
        hessian += weight * std::abs(g) * (1.0 - std::abs(g));
    }
    std::vector<double> head(labels_count_, 0.0);
    head[label] = single_score(gradient, hessian, settings_.l2, head_noise);
    return head;
}

double Booster::mean_loss() const {
    const std::size_t padded = padded_size(labels_count_);
    AlignedVector scratch(padded);
    double total = 0.0;
    for (const std::int32_t example : everything_) {
        const auto n = static_cast<std::size_t>(example);
        total += weights_[n] * active_kernels().loss_value(settings_.loss, scores_.row(example),
                                                           signs_.data() + n * padded, padded, scratch.data());
    }
    return total / total_weight(weights_, everything_);
}

void Booster::draw_sample(std::uint64_t attempt) {
    const std::size_t examples = columns_->examples;
    coverage_.all = everything_;
    if (!settings_.bootstrap) {
        coverage_.sample = everything_;
        coverage_.weights = weights_;
        coverage_.sampled.assign(examples, 1);
        return;
    }
    constexpr std::size_t kTogether = 1024;
    std::uint32_t drawn[kTogether];
    const Stream stream(settings_.seed, attempt, kBootstrapPurpose);
    coverage_.weights.assign(examples, 0.0);
    for (std::size_t begin = 0; begin < examples; begin += kTogether) {
        const std::size_t count = std::min(kTogether, examples - begin);
        active_kernels().draw(stream.key(), begin, count, static_cast<std::uint32_t>(examples), drawn);
        for (std::size_t i = 0; i < count; ++i) coverage_.weights[drawn[i]] += 1.0;
    }
    coverage_.sample.resize(examples);
    coverage_.sampled.resize(examples);
    std::size_t sampled = 0;
    for (std::size_t n = 0; n < examples; ++n) {
        const std::uint8_t in_sample = coverage_.weights[n] > 0.0 ? 1 : 0;
        coverage_.sample[sampled] = static_cast<std::int32_t>(n);
        coverage_.sampled[n] = in_sample;
        coverage_.weights[n] *= weights_[n];
        sampled += in_sample;
    }
    coverage_.sample.resize(sampled);
}

std::vector<std::int32_t> Booster::draw_features(std::uint64_t attempt, std::size_t condition) {
    const std::size_t features = permutation_.size();
    const std::size_t wanted = settings_.max_features;
    if (wanted == 0 || wanted >= features) return permutation_;
    const Stream stream(settings_.seed, attempt, kFeaturePurpose + condition);
    std::vector<std::size_t> swapped(wanted);
    for (std::size_t i = 0; i < wanted; ++i) {
        swapped[i] = i + stream.below(i, features - i);
        std::swap(permutation_[i], permutation_[swapped[i]]);
    }
    std::vector<std::int32_t> drawn(permutation_.begin(), permutation_.begin() + static_cast<std::ptrdiff_t>(wanted));
    // Undone in reverse, so that each draw starts from the identity without writing all of it again.
    for (std::size_t i = wanted; i-- > 0;) std::swap(permutation_[i], permutation_[swapped[i]]);
    return drawn;
}

void Booster::add_head(const std::vector<std::int32_t>& covered, const std::vector<double>& head,
                       Interrupt& interrupt) {
    interrupt.check();  // the last chance: from here on the state changes, to the end
    const std::size_t padded = padded_size(labels_count_);
    AlignedVector padded_head(padded, 0.0);
    std::copy(head.begin(), head.end(), padded_head.begin());
    // A head for a single label changes one block of scores only; one of zeros initialises all of them.
    const auto nonzero = [](double score) { return score != 0.0; };
    auto first = std::find_if(head.begin(), head.end(), nonzero);
    auto last = std::find_if(head.rbegin(), head.rend(), nonzero).base();
    if (first == head.end()) {
        first = head.begin();
        last = head.end();
    }
    const std::size_t begin = static_cast<std::size_t>(first - head.begin()) / kLanes * kLanes;
    const std::size_t end = padded_size(static_cast<std::size_t>(last - head.begin()));

    const bool decomposable = settings_.loss == Loss::label_logistic;  // other gradients depend on all scores
    if (decomposable && last - first == 1) {
        add_score(covered, static_cast<std::size_t>(first - head.begin()), *first);
        return;
    }
    const bool anew = decomposable || updates_++ % kUpdatesBetweenExact == 0;
    AlignedVector raise(padded), lower(padded);
    for (std::size_t k = 0; k < padded && !anew; ++k) {
        raise[k] = std::exp(padded_head[k]);
        lower[k] = std::exp(-padded_head[k]);
    }
    constexpr std::size_t kPart = 256;
    Interrupt never{{}};
    pool_.run((covered.size() + kPart - 1) / kPart, never, [&](std::size_t part, std::size_t) {
        const Kernels& kernels = active_kernels();
        for (std::size_t i = part * kPart; i < std::min(covered.size(), (part + 1) * kPart); ++i) {
            double* scores = scores_.row(covered[i]);
            double* gradient = gradients_.row(covered[i]);
            double& slack = gradients_.slack(covered[i]);
            const double largest = kernels.add_scores(scores, padded_head.data(), begin, end);
            if (anew || !(largest < kLargestAdvanced)) {
                const std::int8_t* signs = signs_.data() + static_cast<std::size_t>(covered[i]) * padded;
                slack = kernels.update_gradient(settings_.loss, scores, signs, padded, begin, end, gradient);
            } else {
                slack = kernels.advance_gradient(raise.data(), lower.data(), padded, slack, gradient);
            }
            gradients_.update_rounded(covered[i], decomposable ? begin : 0, decomposable ? end : padded);
        }
    });
}

// The label-wise loss with a head for one label: its scores and gradients are gathered from the examples, so that no
// exponential is computed in vain.
void Booster::add_score(const std::vector<std::int32_t>& covered, std::size_t label, double score) {
    const std::size_t padded = padded_size(labels_count_);
    constexpr std::size_t kPart = 256;
    Interrupt never{{}};
    pool_.run((covered.size() + kPart - 1) / kPart, never, [&](std::size_t part, std::size_t) {
        alignas(64) double scores[kPart] = {};
        alignas(64) double signs[kPart] = {};
        alignas(64) double gradients[kPart];
        const std::size_t begin = part * kPart;
        const std::size_t count = std::min(kPart, covered.size() - begin);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int32_t example = covered[begin + i];
            scores[i] = scores_.row(example)[label] += score;
            signs[i] = signs_[static_cast<std::size_t>(example) * padded + label];
        }
        active_kernels().label_gradients(scores, signs, padded_size(count), gradients);
        for (std::size_t i = 0; i < count; ++i) {
            gradients_.row(covered[begin + i])[label] = gradients[i];
            gradients_.update_rounded(covered[begin + i], label, label + 1);
        }
    });
}

}  // namespace labelboost
