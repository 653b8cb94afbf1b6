#include "predict.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "search.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kRows = 64;  // per task

void for_each_row(std::size_t examples, ThreadPool& pool, Interrupt& interrupt,
                  const std::function<void(std::size_t, std::size_t)>& row) {
    pool.run((examples + kRows - 1) / kRows, interrupt, [&](std::size_t part, std::size_t thread) {
        interrupt.check();
        const std::size_t end = std::min(examples, (part + 1) * kRows);
        for (std::size_t n = part * kRows; n < end; ++n) row(n, thread);
    });
}

// A missing value (NaN) satisfies no condition: every comparison with it is false, != needs a look.
bool satisfies(double x, std::uint8_t op, double value) {
    switch (static_cast<Operator>(op)) {
        case Operator::less_equal: return x <= value;
        case Operator::greater: return x > value;
        case Operator::equal: return x == value;
        case Operator::not_equal: return x != value && !std::isnan(x);
    }
    return false;
}

template <typename At>
void add_scores(const Ensemble& rules, const At& at, double* scores) {
    const std::size_t labels = rules.n_labels;
    for (std::size_t r = 0; r < rules.rules(); ++r) {
        auto c = static_cast<std::size_t>(rules.conditions[r]);
        const auto last = static_cast<std::size_t>(rules.conditions[r + 1]);
        while (c < last && satisfies(at(rules.features[c]), rules.operators[c], rules.values[c])) ++c;
        if (c < last) continue;
        const auto begin = static_cast<std::size_t>(rules.heads[r]);
        const auto end = static_cast<std::size_t>(rules.heads[r + 1]);
        if (end - begin == labels) {
            for (std::size_t k = 0; k < labels; ++k) scores[k] += rules.head_scores[begin + k];
        } else {
            for (std::size_t i = begin; i < end; ++i) {
                scores[static_cast<std::size_t>(rules.head_labels[i])] += rules.head_scores[i];
            }
        }
    }
}

// The cost of a label vector is a sum over the labels of one of two terms, depending on the label.
class Costs {
public:
    explicit Costs(const KnownVectors& input) : input_(input), present_(input.labels), absent_(input.labels) {}

    void set_example(std::size_t n) {
        scores_ = input_.scores + n * input_.labels;
        double largest = 0.0;
        for (std::size_t k = 0; k < input_.labels; ++k) largest = std::max(largest, std::abs(scores_[k]));
        logarithmic_ = input_.loss == Loss::example_logistic && largest > kLargestExponent;
        for (std::size_t k = 0; k < input_.labels; ++k) {
            present_[k] = term(-scores_[k]);
            absent_[k] = term(scores_[k]);
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
    static constexpr double kLargestExponent = 300.0;
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
    const double* scores_ = nullptr;
    bool logarithmic_ = false;
    std::vector<double> present_, absent_;
};

constexpr double kEqualCosts = 1e-12;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

std::size_t decode_example(const Costs& costs, std::size_t known) {
    const auto limit = [&](double best) {
        return costs.logarithmic() ? best + kEqualCosts : best * (1.0 + kEqualCosts);
    };
    double best = kNoLimit;
    for (std::size_t v = 0; v < known; ++v) best = std::min(best, costs.cost(v, best));
    for (std::size_t v = 0; v < known; ++v) {
        if (costs.cost(v, limit(best)) <= limit(best)) return v;
    }
    return 0;
}

// -log of the weight exp(-loss) of a label vector, from its cost.
double loss_of(Loss loss, bool logarithmic, double cost) {
    if (loss == Loss::label_logistic) return cost;
    if (!logarithmic) return std::log1p(cost);
    return std::max(cost, 0.0) + std::log1p(std::exp(-std::abs(cost)));
}

}  // namespace

template <typename T>
void Ensemble::predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride,
                             std::ptrdiff_t column_stride, double* scores, ThreadPool& pool,
                             Interrupt& interrupt) const {
    for_each_row(examples, pool, interrupt, [&](std::size_t n, std::size_t) {
        const T* row = data + static_cast<std::ptrdiff_t>(n) * row_stride;
        const auto at = [&](std::int32_t feature) { return static_cast<double>(row[feature * column_stride]); };
        add_scores(*this, at, scores + n * n_labels);
    });
}

template <typename T>
void Ensemble::predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                           std::span<const std::int32_t> indptr, double* scores, ThreadPool& pool,
                           Interrupt& interrupt) const {
    std::vector<std::vector<double>> rows(pool.size(), std::vector<double>(n_features, 0.0));
    for_each_row(indptr.size() - 1, pool, interrupt, [&](std::size_t n, std::size_t thread) {
        std::vector<double>& row = rows[thread];
        const auto begin = static_cast<std::size_t>(indptr[n]);
        const auto end = static_cast<std::size_t>(indptr[n + 1]);
        for (std::size_t i = begin; i < end; ++i) row[static_cast<std::size_t>(indices[i])] = static_cast<double>(data[i]);
        const auto at = [&](std::int32_t feature) { return row[static_cast<std::size_t>(feature)]; };
        add_scores(*this, at, scores + n * n_labels);
        for (std::size_t i = begin; i < end; ++i) row[static_cast<std::size_t>(indices[i])] = 0.0;
    });
}

void decode_known(const KnownVectors& input, std::int32_t* position, ThreadPool& pool, Interrupt& interrupt) {
    std::vector<Costs> costs(pool.size(), Costs(input));
    for_each_row(input.examples, pool, interrupt, [&](std::size_t n, std::size_t thread) {
        costs[thread].set_example(n);
        position[n] = static_cast<std::int32_t>(decode_example(costs[thread], input.known));
    });
}

void known_marginals(const KnownVectors& input, double* probabilities, ThreadPool& pool, Interrupt& interrupt) {
    std::vector<Costs> costs(pool.size(), Costs(input));
    std::vector<std::vector<double>> losses(pool.size(), std::vector<double>(input.known));
    for_each_row(input.examples, pool, interrupt, [&](std::size_t n, std::size_t thread) {
        Costs& cost = costs[thread];
        std::vector<double>& loss = losses[thread];
        cost.set_example(n);
        for (std::size_t v = 0; v < input.known; ++v) {
            loss[v] = loss_of(input.loss, cost.logarithmic(), cost.cost(v, kNoLimit));
        }
        const double smallest = *std::min_element(loss.begin(), loss.end());
        double* row = probabilities + n * input.labels;
        std::fill_n(row, input.labels, 0.0);
        double total = 0.0;
        for (std::size_t v = 0; v < input.known; ++v) {
            const double weight = std::exp(smallest - loss[v]);
            const std::uint8_t* vector = input.vectors + v * input.labels;
            total += weight;
            for (std::size_t k = 0; k < input.labels; ++k) row[k] += vector[k] != 0 ? weight : 0.0;
        }
        for (std::size_t k = 0; k < input.labels; ++k) row[k] = std::min(row[k] / total, 1.0);
    });
}

template void Ensemble::predict_dense<float>(const float*, std::size_t, std::ptrdiff_t, std::ptrdiff_t, double*,
                                             ThreadPool&, Interrupt&) const;
template void Ensemble::predict_dense<double>(const double*, std::size_t, std::ptrdiff_t, std::ptrdiff_t, double*,
                                              ThreadPool&, Interrupt&) const;
template void Ensemble::predict_csr<float>(std::span<const float>, std::span<const std::int32_t>,
                                           std::span<const std::int32_t>, double*, ThreadPool&, Interrupt&) const;
template void Ensemble::predict_csr<double>(std::span<const double>, std::span<const std::int32_t>,
                                            std::span<const std::int32_t>, double*, ThreadPool&, Interrupt&) const;

}  // namespace labelboost
