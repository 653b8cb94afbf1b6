// Scores of a finished ensemble, and what they mean for the label sets seen in training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "losses.hpp"
#include "threads.hpp"

namespace labelboost {

// All rules one after the other. Rule r has the conditions [conditions[r], conditions[r + 1]) and the head
// entries [heads[r], heads[r + 1]); `operators` holds the codes of enum Operator.
struct Ensemble {
    std::vector<std::int64_t> conditions;
    std::vector<std::int32_t> features;
    std::vector<std::uint8_t> operators;
    std::vector<double> values;
    std::vector<std::int64_t> heads;
    std::vector<std::int32_t> head_labels;
    std::vector<double> head_scores;
    std::size_t n_features;
    std::size_t n_labels;

    std::size_t rules() const { return conditions.size() - 1; }

    // Adds the heads of all covering rules, in their order, to `scores` (examples x labels, zeros to begin with).
    template <typename T>
    void predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                       double* scores, ThreadPool& pool, Interrupt& interrupt) const;
    template <typename T>
    void predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                     std::span<const std::int32_t> indptr, double* scores, ThreadPool& pool,
                     Interrupt& interrupt) const;
};

// Scores of examples and the distinct label vectors of the training data, the most frequent one first.
struct KnownVectors {
    Loss loss;
    const double* scores;  // examples x labels
    std::size_t examples;
    const std::uint8_t* vectors;  // known x labels
    std::size_t known;
    std::size_t labels;
};

// For each example the position of the known label vector with the smallest loss; the first of equal ones.
void decode_known(const KnownVectors& input, std::int32_t* position, ThreadPool& pool, Interrupt& interrupt);

// For each example and label the share of the known vectors with the label, each weighted by exp(-loss).
void known_marginals(const KnownVectors& input, double* probabilities, ThreadPool& pool, Interrupt& interrupt);

}  // namespace labelboost
