// Sums of gradients and Hessians over sets of examples, in the form that the settings ask for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "aligned.hpp"
#include "kernels/kernels.hpp"
#include "label_sets.hpp"
#include "threads.hpp"

namespace labelboost {

// Which sums describe a region: the diagonal of the Hessian, or all of it, or (flat) nothing of it (see layout.hpp).
struct Form {
    bool joint;
    std::size_t labels;
    bool with_slack = false;  // joint form only: what bounds need, too
    const LabelSets* sets = nullptr;  // joint form only: for the loss over label sets
    bool flat = false;

    std::size_t size() const {
        if (flat) return FlatLayout(labels).size();
        if (!joint) return DiagonalLayout(labels).size();
        if (sets != nullptr) return LabelSetLayout(labels, sets->size()).size();
        return JointLayout(labels).size() + (with_slack ? padded_size(labels) : 0);
    }
    // What systems are formed from: those of label sets are turned into the joint form first, see LabelSets::to_joint.
    Form of_systems() const { return sets != nullptr ? Form{true, labels} : *this; }
};

// One padded row of numbers, one per label, for each example.
template <typename T>
class LabelRows {
public:
    LabelRows(std::size_t examples, std::size_t labels)
        : stride_((labels * sizeof(T) + kLine - 1) / kLine * (kLine / sizeof(T))), values_(examples * stride_, T(0)) {}
    T* row(std::int32_t example) { return values_.data() + static_cast<std::size_t>(example) * stride_; }
    const T* row(std::int32_t example) const { return values_.data() + static_cast<std::size_t>(example) * stride_; }
    bool empty() const { return values_.empty(); }
    std::size_t stride() const { return stride_; }
    std::size_t row_bytes() const { return stride_ * sizeof(T); }
    LabelBlocks all_labels() const { return {0, stride_ / kLanes}; }
    // Whether there are more than the nearer caches hold.
    bool far() const {
        constexpr std::size_t kNear = 1U << 20;
        return values_.size() * sizeof(T) > kNear;
    }
    // Asks for a row before it is needed, unless all of them are near: the rows of a region may lie anywhere in memory. It
    // is put into the second-level cache, as the first one has few lines under way at a time and other loads would have
    // to wait. Always inlined: gcc takes a call that does nothing else for superfluous.
    [[gnu::always_inline]] void prefetch(std::int32_t example) const { prefetch(example, all_labels()); }
    // The same for some of the labels.
    [[gnu::always_inline]] void prefetch(std::int32_t example, LabelBlocks own) const {
        if (!far()) return;
        const auto* const bytes = reinterpret_cast<const char*>(row(example));
        const std::size_t first = own.begin * kBlock / kLine * kLine;
        for (std::size_t line = first; line < own.end * kBlock; line += kLine) __builtin_prefetch(bytes + line, 0, 2);
    }

private:
    static constexpr std::size_t kLine = 64, kBlock = kLanes * sizeof(T);
    std::size_t stride_;
    AlignedVectorOf<T> values_;
};

// In double precision, in single precision where candidates are screened, or in both.
struct Precisions {
    bool exact, rounded;
};

// The gradients of all examples and, for the example-wise loss, their slacks 1 - sum |g|.
class Gradients {
public:
    Gradients(std::size_t examples, std::size_t labels, Precisions precisions)
        : exact_(precisions.exact ? examples : 0, labels),
          rounded_(precisions.rounded ? examples : 0, labels),
          slack_(examples, 0.0),
          precisions_(precisions) {}
    bool exact() const { return precisions_.exact; }
    bool rounded() const { return precisions_.rounded; }
    double* row(std::int32_t example) { return exact_.row(example); }
    const double* row(std::int32_t example) const { return exact_.row(example); }
    const float* rounded_row(std::int32_t example) const { return rounded_.row(example); }
    template <typename T>
    const LabelRows<T>& rows() const {
        if constexpr (std::is_same_v<T, double>) {
            return exact_;
        } else {
            return rounded_;
        }
    }
    void set(std::int32_t example, std::size_t label, double gradient) {
        if (precisions_.exact) exact_.row(example)[label] = gradient;
        if (precisions_.rounded) rounded_.row(example)[label] = static_cast<float>(gradient);
    }
    double& slack(std::int32_t example) { return slack_[static_cast<std::size_t>(example)]; }
    // For the loss over label sets in joint form: the distribution of each example, `row` being its marginals.
    void add_distributions(std::size_t sets) { probabilities_ = LabelRows<double>(slack_.size(), sets); }
    // In addition, for the flat form: the gradients themselves.
    void add_differences(std::size_t labels) { differences_ = LabelRows<double>(slack_.size(), labels); }
    bool has_differences() const { return !differences_.empty(); }
    double* differences(std::int32_t example) { return differences_.row(example); }
    // The gradient of an example, whatever `row` is.
    const double* gradient(std::int32_t example) const {
        return has_differences() ? differences_.row(example) : row(example);
    }
    double* probabilities(std::int32_t example) { return probabilities_.row(example); }
    const double* probabilities(std::int32_t example) const { return probabilities_.row(example); }
    const double* slacks() const { return slack_.data(); }
    double slack(std::int32_t example) const { return slack_[static_cast<std::size_t>(example)]; }
    // Adds a head to some examples; raise, lower: exponentials of the head, and of its negative, padded.
    void advance(const AlignedVector& raise, const AlignedVector& lower, std::span<const std::int32_t> examples) {
        float* const rounded = precisions_.rounded ? rounded_.row(0) : nullptr;
        active_kernels().advance_gradients({raise.data(), lower.data(), exact_.stride(), exact_.row(0), rounded,
                                            rounded_.stride(), slack_.data(), examples.data(), examples.size(),
                                            exact_.far()});
    }
    // To be called after a row has changed.
    void update_rounded(std::int32_t example, std::size_t labels) {
        if (!precisions_.rounded) return;
        const double* source = exact_.row(example);
        float* target = rounded_.row(example);
        for (std::size_t k = 0; k < labels; ++k) target[k] = static_cast<float>(source[k]);
    }

private:
    LabelRows<double> exact_;
    LabelRows<float> rounded_;
    LabelRows<double> probabilities_{0, 0};
    LabelRows<double> differences_{0, 0};
    std::vector<double> slack_;
    Precisions precisions_;
};

// Calls visit(rows, weights, slacks, count) for the examples, a few at a time: what the kernels take. T: precision; own: the
// labels that are looked at.
template <typename T = double, typename Visit>
void for_each_batch(const Gradients& gradients, std::span<const double> weights, std::span<const std::int32_t> examples,
                    LabelBlocks own, const Visit& visit) {
    constexpr std::size_t kBatch = kMostTogether, kAhead = 32;
    const LabelRows<T>& all_rows = gradients.rows<T>();
    const T* rows[kBatch];
    double row_weights[kBatch];
    double slacks[kBatch];
    for (std::size_t m = 0; m < std::min(kAhead, examples.size()); ++m) all_rows.prefetch(examples[m], own);
    for (std::size_t start = 0; start < examples.size(); start += kBatch) {
        const std::size_t count = std::min(kBatch, examples.size() - start);
        for (std::size_t m = 0; m < count; ++m) {
            const std::int32_t example = examples[start + m];
            rows[m] = all_rows.row(example);
            if (start + m + kAhead < examples.size()) all_rows.prefetch(examples[start + m + kAhead], own);
            row_weights[m] = weights[static_cast<std::size_t>(example)];
            slacks[m] = gradients.slack(example);
        }
        visit(rows, row_weights, slacks, count);
    }
}

template <typename T = double, typename Visit>
void for_each_batch(const Gradients& gradients, std::span<const double> weights, std::span<const std::int32_t> examples,
                    const Visit& visit) {
    for_each_batch<T>(gradients, weights, examples, gradients.rows<T>().all_labels(), visit);
}

inline double total_weight(std::span<const double> weights, std::span<const std::int32_t> examples) {
    constexpr std::size_t kTogether = 8;  // one after the other, each addition would wait for the one before
    double sums[kTogether] = {};
    const std::size_t whole = examples.size() / kTogether * kTogether;
    for (std::size_t i = 0; i < whole; i += kTogether) {
        for (std::size_t m = 0; m < kTogether; ++m) sums[m] += weights[static_cast<std::size_t>(examples[i + m])];
    }
    for (std::size_t i = whole; i < examples.size(); ++i) sums[i - whole] += weights[static_cast<std::size_t>(examples[i])];
    return std::accumulate(std::begin(sums), std::end(sums), 0.0);
}

// sums += the statistics of the examples, each times its weight; weights are indexed by example.
void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums);

// The same, listening to the user in between.
void add_many_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                       std::span<const std::int32_t> examples, double* sums, Interrupt& interrupt);

// Sums of `size` numbers over many examples, in parallel: add(examples, sums) adds some of them. The order of additions
// does not depend on the number of threads.
using AddPart = std::function<void(std::span<const std::int32_t>, double*)>;
AlignedVector sum_in_parts(std::span<const std::int32_t> examples, std::size_t size, ThreadPool& pool,
                           Interrupt& interrupt, const AddPart& add);

// The statistics of many examples, and their profile without a head.
AlignedVector sum_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt);
AlignedVector sum_profile(const Gradients& gradients, std::span<const double> weights,
                          std::span<const std::int32_t> examples, std::size_t labels, ThreadPool& pool,
                          Interrupt& interrupt);

// sums -= the statistics of many examples.
void subtract_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                       std::span<const std::int32_t> examples, double* sums, ThreadPool& pool, Interrupt& interrupt);

}  // namespace labelboost
