// What scores mean for the label sets seen in training.
#pragma once

#include <cstddef>
#include <cstdint>

#include "losses.hpp"
#include "threads.hpp"

namespace labelboost {

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
