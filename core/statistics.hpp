// Sums of gradients and Hessians over sets of examples, in the form that the settings ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "aligned.hpp"
#include "kernels/kernels.hpp"
#include "threads.hpp"

namespace labelboost {

// Which sums describe a region: the diagonal of the Hessian, or all of it (see layout.hpp).
struct Form {
    bool joint;
    std::size_t labels;

    std::size_t size() const { return joint ? JointLayout(labels).size() : DiagonalLayout(labels).size(); }
};

// One padded row of numbers, one per label, for each example.
template <typename T>
class LabelRows {
public:
    LabelRows(std::size_t examples, std::size_t labels)
        : stride_((labels * sizeof(T) + 63) / 64 * (64 / sizeof(T))), values_(examples * stride_, T(0)) {}
    T* row(std::int32_t example) { return values_.data() + static_cast<std::size_t>(example) * stride_; }
    const T* row(std::int32_t example) const { return values_.data() + static_cast<std::size_t>(example) * stride_; }

private:
    std::size_t stride_;
    AlignedVectorOf<T> values_;
};

// The gradients of all examples, and where candidates are screened a copy in single precision.
class Gradients {
public:
    Gradients(std::size_t examples, std::size_t labels, bool with_rounded)
        : exact_(examples, labels), rounded_(with_rounded ? examples : 0, labels), with_rounded_(with_rounded) {}
    double* row(std::int32_t example) { return exact_.row(example); }
    const double* row(std::int32_t example) const { return exact_.row(example); }
    const float* rounded_row(std::int32_t example) const { return rounded_.row(example); }
    // To be called after a row has changed, at the labels [begin, end) at the most.
    void update_rounded(std::int32_t example, std::size_t begin, std::size_t end) {
        if (!with_rounded_) return;
        const double* source = exact_.row(example);
        float* target = rounded_.row(example);
        for (std::size_t k = begin; k < end; ++k) target[k] = static_cast<float>(source[k]);
    }

private:
    LabelRows<double> exact_;
    LabelRows<float> rounded_;
    bool with_rounded_;
};

// sums += the statistics of the examples, each times its weight; weights are indexed by example.
void add_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums);

// The same for many examples, in parallel. The order of additions does not depend on the number of threads.
AlignedVector sum_examples(const Form& form, const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt);

}  // namespace labelboost
