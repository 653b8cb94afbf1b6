#include "forest.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"
#include "search.hpp"

namespace labelboost {

const char* TreeArrays::fault() const {
    if (n_labels() == 0) return "there must be labels";
    if (heads.size() % n_labels() != 0) return "heads have the wrong size";
    const std::size_t leaves = heads.size() / n_labels();
    for (std::size_t t = 0; t + 1 < trees.size(); ++t) {
        const auto begin = static_cast<std::size_t>(trees[t]), end = static_cast<std::size_t>(trees[t + 1]);
        if (begin == end) return "a tree needs a node";
        for (std::size_t n = begin; n < end; ++n) {
            const auto number = static_cast<std::int64_t>(n - begin), count = static_cast<std::int64_t>(end - begin);
            if (features[n] < -1 || features[n] >= static_cast<std::int64_t>(n_features)) return "a feature is out of range";
            if (features[n] < 0) {
                if (left[n] < 0 || static_cast<std::size_t>(left[n]) >= leaves) return "a head is out of range";
                continue;
            }
            for (const std::int32_t child : {left[n], right[n]}) {
                if (child <= number || child >= count) return "a child is out of range";
            }
            const auto op = static_cast<Operator>(operators[n]);
            if (op != Operator::less_equal && op != Operator::equal) return "an operator is out of range";
        }
    }
    return nullptr;
}

Forest::Forest(TreeArrays trees) : trees_(std::move(trees)), padded_(padded_size(trees_.n_labels())) {
    for (std::size_t n = 0; n < trees_.features.size(); ++n) {
        nodes_.push_back({trees_.values[n], trees_.features[n], trees_.left[n], trees_.right[n],
                          static_cast<Operator>(trees_.operators[n]) == Operator::equal, trees_.missing_left[n] != 0});
    }
    const std::size_t labels = n_labels();
    const std::size_t leaves = trees_.heads.size() / labels;
    heads_.assign(leaves * padded_, 0.0);
    for (std::size_t i = 0; i < leaves; ++i) {
        std::copy_n(trees_.heads.data() + i * labels, labels, heads_.data() + i * padded_);
    }
}

template <typename Value>
std::size_t Forest::leaf(std::size_t tree, const Value& value) const {
    const Node* const root = nodes_.data() + trees_.trees[tree];
    const Node* node = root;
    while (node->feature >= 0) {
        const double x = value(node->feature);
        const bool left = std::isnan(x) ? node->missing_left : node->equal ? x == node->value : x <= node->value;
        node = root + (left ? node->left : node->right);
    }
    return static_cast<std::size_t>(node->left);
}

template <typename WithExample>
void Forest::predict(std::size_t examples, const Stages& stages, double* scores, ThreadPool& pool,
                     Interrupt& interrupt, const WithExample& with_example) const {
    constexpr std::size_t kBlock = 64;
    const std::size_t labels = n_labels();
    pool.run((examples + kBlock - 1) / kBlock, interrupt, [&](std::size_t block, std::size_t) {
        AlignedVector sums(padded_);
        const std::size_t end = std::min(examples, (block + 1) * kBlock);
        for (std::size_t n = block * kBlock; n < end; ++n) {
            interrupt.check();
            const double* const start = stages.start != nullptr ? stages.start + n * labels : trees_.default_head.data();
            std::copy_n(start, labels, sums.data());
            with_example(n, [&](const auto& value) {
                std::size_t tree = stages.first;
                for (std::size_t stage = 0; stage < stages.stops.size(); ++stage) {
                    for (; tree < static_cast<std::size_t>(stages.stops[stage]); ++tree) {
                        active_kernels().add_row(sums.data(), heads_.data() + leaf(tree, value) * padded_, 1.0, padded_);
                    }
                    std::copy_n(sums.data(), labels, scores + (stage * examples + n) * labels);
                }
            });
        }
    });
}

template <typename T>
void Forest::predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride,
                           std::ptrdiff_t column_stride, const Stages& stages, double* scores, ThreadPool& pool,
                           Interrupt& interrupt) const {
    predict(examples, stages, scores, pool, interrupt, [&](std::size_t n, const auto& work) {
        const T* const row = data + static_cast<std::ptrdiff_t>(n) * row_stride;
        work([&](std::int32_t feature) { return static_cast<double>(row[feature * column_stride]); });
    });
}

template <typename T>
void Forest::predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                         std::span<const std::int32_t> indptr, const Stages& stages, double* scores, ThreadPool& pool,
                         Interrupt& interrupt) const {
    predict(indptr.size() - 1, stages, scores, pool, interrupt, [&](std::size_t n, const auto& work) {
        thread_local std::vector<double> row;  // zeros between calls
        row.resize(std::max(row.size(), n_features()), 0.0);
        const auto begin = static_cast<std::size_t>(indptr[n]), end = static_cast<std::size_t>(indptr[n + 1]);
        for (std::size_t i = begin; i < end; ++i) row[static_cast<std::size_t>(indices[i])] = static_cast<double>(data[i]);
        work([&](std::int32_t feature) { return row[static_cast<std::size_t>(feature)]; });
        for (std::size_t i = begin; i < end; ++i) row[static_cast<std::size_t>(indices[i])] = 0.0;
    });
}

template void Forest::predict_dense(const float*, std::size_t, std::ptrdiff_t, std::ptrdiff_t, const Stages&, double*,
                                    ThreadPool&, Interrupt&) const;
template void Forest::predict_dense(const double*, std::size_t, std::ptrdiff_t, std::ptrdiff_t, const Stages&, double*,
                                    ThreadPool&, Interrupt&) const;
template void Forest::predict_csr(std::span<const float>, std::span<const std::int32_t>, std::span<const std::int32_t>,
                                  const Stages&, double*, ThreadPool&, Interrupt&) const;
template void Forest::predict_csr(std::span<const double>, std::span<const std::int32_t>, std::span<const std::int32_t>,
                                  const Stages&, double*, ThreadPool&, Interrupt&) const;

}  // namespace labelboost
