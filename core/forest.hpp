// Scores of a finished ensemble of trees.
//
// An example walks down one tree after the other, and the heads of the leaves are added up in the order of the trees. Cost
// per example and tree: a comparison per level, and K / 8 vector additions. Sparse examples are spread out one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "predict.hpp"
#include "threads.hpp"

namespace labelboost {

// All nodes of all trees one after the other; those of tree t are [trees[t], trees[t + 1]), its root first. Children are
// given by their numbers within the tree, which are greater than that of the parent. The feature of a leaf is -1, and its left
// child the number of its head. operators: the codes of enum Operator, <= or =, for the left child.
struct TreeArrays {
    std::vector<std::int64_t> trees;
    std::vector<std::int32_t> features;
    std::vector<std::uint8_t> operators;
    std::vector<double> values;
    std::vector<std::uint8_t> missing_left;
    std::vector<std::int32_t> left, right;
    std::vector<double> default_head;
    std::vector<double> heads;  // leaves x labels
    std::size_t n_features;

    std::size_t n_labels() const { return default_head.size(); }
    // What is wrong with these arrays, or null.
    const char* fault() const;
};

class Forest {
public:
    explicit Forest(TreeArrays trees);

    std::size_t n_features() const { return trees_.n_features; }
    std::size_t n_labels() const { return trees_.n_labels(); }
    std::size_t size() const { return trees_.trees.size() - 1; }
    const TreeArrays& arrays() const { return trees_; }

    // As in Ensemble; stages count trees, the default head comes before the first one.
    template <typename T>
    void predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride,
                       const Stages& stages, double* scores, ThreadPool& pool, Interrupt& interrupt) const;
    template <typename T>
    void predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                     std::span<const std::int32_t> indptr, const Stages& stages, double* scores,
                     ThreadPool& pool, Interrupt& interrupt) const;

private:
    struct Node {
        double value;
        std::int32_t feature, left, right;
        bool equal, missing_left;
    };

    // The number of the leaf's head; value(feature): of the example.
    template <typename Value>
    std::size_t leaf(std::size_t tree, const Value& value) const;
    // with_example(n, work): calls work(value) for example n.
    template <typename WithExample>
    void predict(std::size_t examples, const Stages& stages, double* scores, ThreadPool& pool, Interrupt& interrupt,
                 const WithExample& with_example) const;

    TreeArrays trees_;
    std::vector<Node> nodes_;
    std::size_t padded_;
    AlignedVector heads_;  // of the leaves, padded
};

}  // namespace labelboost
