// The head of one rule, solved in double precision: Algorithm 1, with and without label bins.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/kernels.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// Factorises a whole system in the layout of the `factorise` kernel; returns its quality.
double factorise_system(double* system, std::size_t stride, std::size_t n, double noise, Interrupt& interrupt);

// Scores for all labels that minimise the objective over a region with these sums.
std::vector<double> complete_head(const Form& form, const double* sums, const Settings& settings, double noise,
                                  Interrupt& interrupt);

// The label that a single-label head should predict for: the first of the best.
std::size_t best_label(const double* sums, std::size_t labels, double l2, double noise);

// The score of one label, from the sums of its gradients and second derivatives.
double single_score(double gradient, double hessian, double l2, double noise);

// Aggregated systems of label bins, for heads and for candidates. Holds its scratch memory, so that a thread
// allocates nothing per candidate.
class BinnedSystem {
public:
    BinnedSystem(const Form& form, const Settings& settings);

    // Forms the system of a region; returns the number of unknowns.
    std::size_t form_system(const double* sums, double noise);
    double gradient(std::size_t b) const { return gradient_[b]; }
    // Element of the aggregated Hessian with the L2 term on the diagonal.
    double matrix(std::size_t b, std::size_t q) const { return matrix_[b * bins_ + q]; }
    std::int32_t bin(std::size_t label) const { return bin_[label]; }

private:
    Form form_;
    double l2_;
    BinSettings settings_;
    std::size_t bins_ = 0;
    std::vector<std::int32_t> bin_, bin_size_;
    std::vector<double> criterion_, hessian_, gradient_, matrix_;
    AlignedVector rows_;
};

}  // namespace labelboost
