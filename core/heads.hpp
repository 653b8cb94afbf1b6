// The head of one rule, solved in double precision: Algorithm 1, with and without label bins.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/kernels.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// Systems in the layout of the `factorise` kernel: the distance of their rows, the system of a region in joint form
// without label bins, and the factorisation as a whole, which returns the quality.
constexpr std::size_t system_stride(std::size_t n) { return padded_size(n + 1); }
void fill_joint_system(const double* sums, std::size_t labels, double l2, double* system);
double factorise_system(double* system, std::size_t stride, std::size_t n, double noise, Interrupt& interrupt);

// The label that a single-label head should predict for: the first of the best.
std::size_t best_label(const double* sums, std::size_t labels, double l2, double noise);

// The score of one label, from the sums of its gradients and second derivatives.
double single_score(double gradient, double hessian, double l2, double noise);

// The labels by bin, the last ones first, and where those of each bin start.
struct LabelOrder {
    std::vector<std::int32_t> order, first;

    void set(const std::vector<std::int32_t>& bin, const std::vector<std::int32_t>& bin_size, std::size_t labels,
             std::size_t bins);
};

// Aggregated systems of label bins, for heads and for candidates. Holds its scratch memory, so that a thread
// allocates nothing per candidate.
class BinnedSystem {
public:
    BinnedSystem(const Form& form, const Settings& settings);

    // Forms the system of a region from its sums, `whole - part` if there is a part; returns the number of unknowns.
    std::size_t form_system(const double* whole, const double* part, double noise);
    // The same in steps for a region in joint form whose Hessian has not been summed up. First from its profile, made
    // without a head; then either the products of its own examples with factor -1 are added, or the sums of a larger
    // region and, with factor 1, the products of the examples that the larger region has in addition.
    std::size_t start_system(const double* profile, double noise);
    void add_larger_region(const double* sums);
    // stride: between the rows of products.
    void add_products(const double* products, std::size_t stride);
    // Adds the products of the examples, as rows of padded_size(unknowns), to what add_products takes.
    void sum_products(const Gradients& gradients, std::span<const double> weights,
                      std::span<const std::int32_t> examples, double factor, double* products) const;
    std::size_t unknowns() const { return bins_; }
    double gradient(std::size_t b) const { return of_bins_[b]; }
    // Element of the aggregated Hessian with the L2 term on the diagonal, b <= q.
    double matrix(std::size_t b, std::size_t q) const { return matrix_[b * bins_ + q]; }
    std::int32_t bin(std::size_t label) const { return bin_[label]; }

private:
    void map_labels(double noise);
    // Two bins have but one element in common. Heads of label sets, which would differ in their last digits, keep the bits
    // that they had in former versions.
    bool in_pairs() const { return bins_ <= 2 && !settings_.exact && form_.sets == nullptr; }
    // Adds values, one label after the other, to the sums of their bins, which are `step` apart.
    void scatter(const double* values, double* sums, std::size_t step) const;
    void add_to_diagonal(const double* values) { scatter(values, matrix_.data(), bins_ + 1); }
    void add_l2();
    void aggregate(const double* whole, const double* part, double* matrix);

    Form form_;
    double l2_;
    BinSettings settings_;
    std::size_t bins_ = 0;
    std::vector<std::int32_t> bin_, bin_size_;
    LabelOrder order_;
    std::vector<double> of_bins_;              // gradients
    std::vector<double> matrix_, larger_;
    AlignedVector gradient_, additive_, hessian_, criterion_, numbers_;  // by label, padded
    AlignedVector rows_;
};

// Scores for all labels that minimise the objective over the examples; weights are indexed by example. `quality`, if
// wanted, becomes the objective at these scores: what a step of this length promises, at most zero. binned: made for this form,
// and used again for its memory.
std::vector<double> complete_head(const Form& form, const Gradients& gradients, std::span<const double> weights,
                                  std::span<const std::int32_t> examples, const Settings& settings, BinnedSystem& binned,
                                  double noise, ThreadPool& pool, Interrupt& interrupt, double* quality = nullptr);

}  // namespace labelboost
