// The label sets seen in training, and a distribution over them: what the loss "labelset_softmax" is made of.
//
// With the indicator vectors b_s of the sets and their shares pi_s of the training data, P(s | x) is proportional to
// pi_s exp(b_s . p) at the scores p. (The vectors v_s = b_s - 1/2 give the same distribution.) The loss of an example
// is -log P(its set), its gradient mu - b_true with mu = sum_s P_s b_s, its Hessian sum_s P_s b_s b_s^T - mu mu^T.
// So the Hessian of a region is B^T diag(r) B - (Gram matrix of the mu), r being the sum of the distributions: one
// number per set and example, and the same Gram matrix as in the example-wise loss, with mu in place of g.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "layout.hpp"

namespace labelboost {

// Sums over a region for this loss: those of the joint form with mu as gradient, then r, then the sum of all b_true.
struct LabelSetLayout {
    JointLayout joint;
    std::size_t sets;

    constexpr LabelSetLayout(std::size_t labels, std::size_t n_sets) : joint(labels), sets(n_sets) {}
    constexpr std::size_t probabilities() const { return joint.size(); }
    constexpr std::size_t relevant() const { return probabilities() + padded_size(sets); }
    constexpr std::size_t size() const { return relevant() + joint.padded; }
};

class LabelSets {
public:
    LabelSets() = default;
    // vectors: sets x labels, 0 or 1; weights: of the sets in the training data; set_of: the set of each example.
    LabelSets(std::span<const std::uint8_t> vectors, std::size_t labels, std::span<const double> weights,
              std::span<const std::int32_t> set_of);

    std::size_t size() const { return log_priors_.size(); }
    // How many pairs of labels (each with itself included) all sets have together.
    std::size_t pairs() const { return pairs_; }
    // The labels of a set, in ascending order, and those of an example.
    std::span<const std::uint32_t> members(std::size_t set) const {
        return {members_.data() + first_[set], first_[set + 1] - first_[set]};
    }
    std::size_t set_of(std::int32_t example) const {
        return static_cast<std::size_t>(set_of_[static_cast<std::size_t>(example)]);
    }

    // The distribution at the given scores.
    void distribution(const double* scores, double* probabilities) const;
    // exp(b_s . head) for each set: what a head multiplies a distribution by, before it is divided by its sum. False if
    // that is too much to be done many times in a row, as small probabilities would be lost on the way.
    bool factors(const double* head, double* out) const;
    // The marginals mu, padded, of up to eight distributions; sums: marginal_scratch_size() numbers.
    void marginals(std::span<const double* const> distributions, std::span<double* const> out, double* sums) const;
    std::size_t marginal_scratch_size() const { return kLanes * padded_size(labels_); }

    // Turns sums over a region into those of the joint form: the gradient, and a Hessian diag(0) - (Gram - B^T diag(r) B).
    void to_joint(const double* sums, double* joint) const;

    // Gradient and Hessian of one example as a row (see kernels/packed.hpp); scratch: as many numbers as the row has.
    void pack(const double* probabilities, const double* marginals, std::int32_t example, double weight, double* scratch,
              float* out) const;

private:
    std::size_t labels_ = 0;
    std::size_t pairs_ = 0;
    std::vector<double> log_priors_;
    std::vector<std::size_t> first_;
    std::vector<std::uint32_t> members_;
    std::vector<std::int32_t> set_of_;
};

}  // namespace labelboost
