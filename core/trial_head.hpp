// A head of label bins that is nearly the best one of a region, and what it tells of the best.
//
// With label bins, too, the best gain lies between f(x) and f(x) + sum r^2 / (e + l2) / 2 for any head x with residual
// r = -g - A x, where e is the slack, added up over the bins (see kernels/profiles.hpp). Systems of label bins have large
// diagonals D: x = (-g + p) / D with about the right products p = (D - A) x, stretched so that it is as good as can be, leaves
// a residual of a few percent, and so a range of a few thousandths for the gain. What that takes is A x: two multiply-adds
// per element of the Gram matrix of a larger region, and K + 3 B operations for each example that is not in both. To form and
// solve the system takes several times as long. But for two bins, whose system has one element off its diagonal: that is
// found at once, and the head is the best one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "heads.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// Whether a factorisation certainly keeps an unknown, so that what a head attains is attained by the solution, too: no pivot is
// smaller than the slack with the L2 term, `least`.
inline bool keeps_pivot(double least, double diagonal, double noise) {
    return least > 2.0 * kSingular * diagonal && least > 2.0 * noise;
}

// Holds its scratch memory: one per thread.
class TrialHead {
public:
    TrialHead(const Form& form, const Settings& settings);

    // Takes a head for a region with this profile, made without a head. expected: about what the products will be by label,
    // or null if nothing is known of them.
    void start(const double* profile, double noise, const double* expected);
    // The products of the region must be the sum of these: of the Gram matrix of another region, at most once, and of
    // examples, with factor -1 if the region lacks them.
    void multiply_region(const double* sums);
    void multiply_examples(const Gradients& gradients, std::span<const double> weights,
                           std::span<const std::int32_t> examples, double factor);
    // Bounds on the gain of the region's best head. Nothing is known from below if its system is nearly singular.
    GainBounds bounds();
    // Those of the other region, by label; null if nobody needs them, as there are but two bins.
    const double* products() const { return in_pairs_ ? nullptr : products_.data(); }

private:
    void solve_pair();

    std::size_t labels_;
    double l2_;
    BinSettings settings_;
    double noise_ = 0.0;
    std::size_t bins_ = 0;
    bool in_pairs_ = false;  // no more than two bins, and nothing within a bin but the diagonal
    std::vector<std::int32_t> bin_, bin_size_;
    LabelOrder order_;
    AlignedVector hessian_, criterion_, numbers_, spread_, products_;  // by label; spread: the scores of their bins
    AlignedVector sums_;                                               // kinds x bins: see start
    AlignedVector slack_, scores_, pulls_;                             // by bin; pulls: the products
    AlignedVector lanes_, scratch_;                                    // products of examples, kLanes per bin
};

}  // namespace labelboost
