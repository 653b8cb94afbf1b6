#include "decode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "kernels/kernels.hpp"

namespace labelboost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whether sums of exponentials of the scores of example n could overflow.
bool may_overflow(const KnownVectors& input, std::size_t n) {
    constexpr double kLargestExponent = 300.0;
    const double* scores = input.scores + n * input.labels;
    return input.loss == Loss::example_logistic &&
           std::any_of(scores, scores + input.labels, [](double p) { return std::abs(p) > kLargestExponent; });
}

// The cost of a label vector is a sum over the labels of one of two terms, depending on the label.
class Costs {
public:
    explicit Costs(const KnownVectors& input) : input_(input), present_(input.labels), absent_(input.labels) {}

    void set_example(std::size_t n) {
        const double* scores = input_.scores + n * input_.labels;
        logarithmic_ = may_overflow(input_, n);
        for (std::size_t k = 0; k < input_.labels; ++k) {
            present_[k] = term(-scores[k]);
            absent_[k] = term(scores[k]);
        }
    }

    // True if cost() returns logarithms, because the costs themselves could overflow.
    bool logarithmic() const { return logarithmic_; }

    // May stop early, with a cost above `limit`, once it is certain to exceed it.
    double cost(std::size_t v, double limit) const {
        const std::uint8_t* vector = input_.vectors + v * input_.labels;
        if (logarithmic_) return log_cost(vector);
        double total = 0.0;
        for (std::size_t start = 0; start < input_.labels; start += kStep) {
            const std::size_t end = std::min(input_.labels, start + kStep);
            for (std::size_t k = start; k < end; ++k) total += vector[k] != 0 ? present_[k] : absent_[k];
            if (total > limit) break;
        }
        return total;
    }

private:
    static constexpr std::size_t kStep = 16;

    double term(double margin) const {
        if (logarithmic_) return margin;
        if (input_.loss == Loss::example_logistic) return std::exp(margin);
        return std::max(margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    }

    double log_cost(const std::uint8_t* vector) const {
        const auto at = [&](std::size_t k) { return vector[k] != 0 ? present_[k] : absent_[k]; };
        double largest = at(0);
        for (std::size_t k = 1; k < input_.labels; ++k) largest = std::max(largest, at(k));
        double total = 0.0;
        for (std::size_t k = 0; k < input_.labels; ++k) total += std::exp(at(k) - largest);
        return largest + std::log(total);
    }

    const KnownVectors& input_;
    bool logarithmic_ = false;
    std::vector<double> present_, absent_;
};

// The labels of each known vector, one vector after the other.
struct LabelLists {
    explicit LabelLists(const KnownVectors& input) {
        for (std::size_t v = 0; v < input.known; ++v) {
            const std::uint8_t* vector = input.vectors + v * input.labels;
            for (std::size_t k = 0; k < input.labels; ++k) {
                if (vector[k] != 0) labels.push_back(static_cast<std::uint32_t>(k));
            }
            offsets.push_back(labels.size());
        }
    }

    std::vector<std::size_t> offsets{0};
    std::vector<std::uint32_t> labels;
};

constexpr double kEqualCosts = 1e-12;

// Finds the few known vectors that may be the cheapest, for kLanes examples at a time: a vector's cost is that of
// the empty one plus a difference for each of its labels, which are few as a rule. Such sums may lose all digits to
// cancellation, so whatever they cannot tell apart is left to class Costs.
class Screen {
public:
    Screen(const KnownVectors& input, const LabelLists& lists)
        : input_(input),
          lists_(lists),
          scores_(kLanes * input.labels),
          costs_(kLanes * input.known),
          smallest_(kLanes * ((input.known + kScreenGroup - 1) / kScreenGroup)),
          empty_(kLanes) {}

    // Takes the examples [first, first + count), at most kLanes.
    void set_examples(std::size_t first, std::size_t count) {
        std::fill(scores_.begin(), scores_.end(), 0.0);
        for (std::size_t lane = 0; lane < count; ++lane) {
            overflows_[lane] = may_overflow(input_, first + lane);
            const double* scores = input_.scores + (first + lane) * input_.labels;
            for (std::size_t k = 0; k < input_.labels; ++k) scores_[kLanes * k + lane] = scores[k];
        }
        active_kernels().screen_known(input_.loss, scores_.data(), input_.labels, lists_.offsets.data(),
                                      lists_.labels.data(), input_.known, costs_.data(), smallest_.data(),
                                      empty_.data());
    }

    // All vectors that may be the cheapest for the example in this lane, in their order.
    std::span<const std::uint32_t> candidates(std::size_t lane) {
        const double limit = overflows_[lane] ? kInfinity : largest_candidate(lane);
        candidates_.clear();
        for (std::size_t g = 0; kLanes * g < smallest_.size(); ++g) {
            if (smallest_[kLanes * g + lane] > limit) continue;
            const std::size_t end = std::min(input_.known, (g + 1) * kScreenGroup);
            for (std::size_t v = g * kScreenGroup; v < end; ++v) {
                if (!(costs_[kLanes * v + lane] > limit)) candidates_.push_back(static_cast<std::uint32_t>(v));
            }
        }
        return candidates_;
    }

private:
    // Rounding errors are at most the number of operations times half an epsilon times the sum of all that is added
    // or taken away: the cost of the empty vector bounds what is taken away, the vector's own cost what is added
    // instead. The factors leave room for the errors of the exponentials and for both ends of a comparison.
    double largest_candidate(std::size_t lane) const {
        double best = kInfinity;
        for (std::size_t g = 0; kLanes * g < smallest_.size(); ++g) best = std::min(best, smallest_[kLanes * g + lane]);
        constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
        const double rounding = 16.0 * kEpsilon * (static_cast<double>(input_.labels) + 8.0);
        return best + (2.0 * kEqualCosts + rounding) * (std::abs(best) + empty_[lane]);
    }

    const KnownVectors& input_;
    const LabelLists& lists_;
    AlignedVector scores_, costs_, smallest_, empty_;
    bool overflows_[kLanes] = {};
    std::vector<std::uint32_t> candidates_;
};

// The first of the cheapest of these vectors.
std::uint32_t choose(const Costs& costs, std::span<const std::uint32_t> candidates) {
    double best = kInfinity;
    for (const std::uint32_t v : candidates) best = std::min(best, costs.cost(v, best));
    const double limit = costs.logarithmic() ? best + kEqualCosts : best * (1.0 + kEqualCosts);
    for (const std::uint32_t v : candidates) {
        if (costs.cost(v, limit) <= limit) return v;
    }
    return candidates.front();
}

// -log of the weight exp(-loss) of a label vector, from its cost.
double loss_of(Loss loss, bool logarithmic, double cost) {
    if (loss == Loss::label_logistic) return cost;
    if (!logarithmic) return std::log1p(cost);
    return std::max(cost, 0.0) + std::log1p(std::exp(-std::abs(cost)));
}

}  // namespace

void decode_known(const KnownVectors& input, std::int32_t* position, ThreadPool& pool, Interrupt& interrupt) {
    const LabelLists lists(input);
    std::vector<std::optional<Screen>> screens(pool.size());
    std::vector<Costs> costs(pool.size(), Costs(input));
    pool.run((input.examples + kLanes - 1) / kLanes, interrupt, [&](std::size_t part, std::size_t thread) {
        interrupt.check();
        const std::size_t first = part * kLanes;
        const std::size_t count = std::min(kLanes, input.examples - first);
        Screen& screen = screens[thread] ? *screens[thread] : screens[thread].emplace(input, lists);
        screen.set_examples(first, count);
        for (std::size_t lane = 0; lane < count; ++lane) {
            const std::span<const std::uint32_t> candidates = screen.candidates(lane);
            std::uint32_t chosen = candidates.front();
            if (candidates.size() > 1) {
                costs[thread].set_example(first + lane);
                chosen = choose(costs[thread], candidates);
            }
            position[first + lane] = static_cast<std::int32_t>(chosen);
        }
    });
}

void known_marginals(const KnownVectors& input, double* probabilities, ThreadPool& pool, Interrupt& interrupt) {
    const LabelLists lists(input);
    std::vector<Costs> costs(pool.size(), Costs(input));
    std::vector<std::vector<double>> losses(pool.size(), std::vector<double>(input.known));
    pool.run(input.examples, interrupt, [&](std::size_t n, std::size_t thread) {
        interrupt.check();
        Costs& cost = costs[thread];
        std::vector<double>& loss = losses[thread];
        cost.set_example(n);
        for (std::size_t v = 0; v < input.known; ++v) {
            loss[v] = loss_of(input.loss, cost.logarithmic(), cost.cost(v, kInfinity));
        }
        const double smallest = *std::min_element(loss.begin(), loss.end());
        double* row = probabilities + n * input.labels;
        std::fill_n(row, input.labels, 0.0);
        double total = 0.0;
        for (std::size_t v = 0; v < input.known; ++v) {
            const double weight = std::exp(smallest - loss[v]);
            total += weight;
            for (std::size_t i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) row[lists.labels[i]] += weight;
        }
        for (std::size_t k = 0; k < input.labels; ++k) row[k] = std::min(row[k] / total, 1.0);
    });
}

}  // namespace labelboost
