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

// One padded row of doubles, a number per label, for each example: gradients or scores.
class LabelRows {
public:
    LabelRows(std::size_t examples, std::size_t labels)
        : stride_(padded_size(labels)), values_(examples * stride_, 0.0) {}
    double* row(std::int32_t example) { return values_.data() + static_cast<std::size_t>(example) * stride_; }
    const double* row(std::int32_t example) const {
        return values_.data() + static_cast<std::size_t>(example) * stride_;
    }

private:
    std::size_t stride_;
    AlignedVector values_;
};

// sums += the statistics of the examples, each times its weight; weights are indexed by example.
void add_examples(const Form& form, const LabelRows& gradients, std::span<const double> weights,
                  std::span<const std::int32_t> examples, double* sums);

// The same for many examples, in parallel. The order of additions does not depend on the number of threads.
AlignedVector sum_examples(const Form& form, const LabelRows& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt);

}  // namespace labelboost
