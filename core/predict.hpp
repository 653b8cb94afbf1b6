// Scores of a finished ensemble.
//
// Examples are taken 64 at a time, one per bit of a word. Each distinct condition of the ensemble becomes a word
// (which of the 64 satisfy it), the coverage of a rule is the AND of its conditions' words, and only then are the
// heads of the covering rules added up, example by example in the order of the rules. So the bits of a score depend
// on the example and the rules alone, not on the batch, the threads or the instruction set.
//
// Cost per example, with C conditions, D distinct ones on F features, and K labels: F binary searches, (C + D) / 64
// operations on words, and K / 8 vector additions per covering rule. Memory per thread: D words and 64 x K scores;
// nothing of size examples x rules, and sparse examples stay sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "threads.hpp"

namespace labelboost {

// All rules one after the other. Rule r has the conditions [conditions[r], conditions[r + 1]) and the head
// entries [heads[r], heads[r + 1]); `operators` holds the codes of enum Operator.
struct RuleArrays {
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
};

// The constants that a feature is compared with, in ascending order: either those of <= and > or those of = and !=.
// A constant takes in the values up to it, or those equal to it. Each distinct condition has a position in
// [begin, end); the position `end` belongs to none and is for the values that no constant takes in.
struct Scale {
    std::int32_t feature;
    bool ordered;
    std::uint32_t begin, end;
    std::uint32_t zero;  // the first position that takes in the value 0
};

// The distinct conditions of an ensemble.
struct ConditionIndex {
    explicit ConditionIndex(const RuleArrays& rules);

    // For each value the first position of the scale that takes it in; for a missing value any position.
    void locate(const Scale& scale, std::span<const double> x, std::uint32_t* position) const;

    std::vector<Scale> scales;               // by feature
    std::vector<std::uint32_t> first_scale;  // of each feature, and one more for the end
    std::vector<double> constants;           // by position
    std::vector<std::uint8_t> negated;       // by position: > and !=, satisfied by what is not taken in
    std::vector<std::uint32_t> used;         // the positions of all rules' conditions, one after the other
};

// After how many rules scores are wanted, ascending; and where to begin.
struct Stages {
    std::span<const std::int64_t> stops;
    std::size_t first = 0;          // the rules before it are skipped: ...
    const double* start = nullptr;  // ... these are the scores so far (examples x labels), or null for zeros
};

class Ensemble {
public:
    explicit Ensemble(RuleArrays rules);
    // bodies: without heads; heads: rules x labels.
    Ensemble(RuleArrays bodies, const double* heads);

    std::size_t n_features() const { return rules_.n_features; }
    std::size_t n_labels() const { return rules_.n_labels; }
    std::size_t size() const { return rules_.rules(); }
    RuleArrays arrays() const;

    // Writes the sums of the heads of covering rules to `scores` (examples x labels), one matrix per stage.
    template <typename T>
    void predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                       const Stages& stages, double* scores, ThreadPool& pool, Interrupt& interrupt) const;
    template <typename T>
    void predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                     std::span<const std::int32_t> indptr, const Stages& stages, double* scores,
                     ThreadPool& pool, Interrupt& interrupt) const;

private:
    class Block;

    // load(block, n) tells a block the features of its examples, of which n is the first.
    template <typename Load>
    void predict_blocks(std::size_t examples, const Load& load, const Stages& stages, double* scores,
                        ThreadPool& pool, Interrupt& interrupt) const;

    // Whether heads with so many entries in total are kept as a matrix.
    bool keeps_matrix(std::size_t entries) const { return 2 * entries >= size() * n_labels(); }

    RuleArrays rules_;  // without the heads if they are in the matrix
    ConditionIndex index_;
    std::size_t padded_;  // number of labels, padded
    AlignedVector heads_;  // rules x padded labels; empty if most entries of the heads are zero
};

}  // namespace labelboost
