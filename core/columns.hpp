// The feature matrix, prepared once per fit: for each feature the examples in the order of their values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "matrix.hpp"
#include "threads.hpp"

namespace labelboost {

// Values are replaced by ranks among the feature's distinct values (or among its quantile bins), so that the
// search compares integers, thresholds keep the precision of the input, and binned and exact features, and
// sparse and dense ones, share one representation.
struct Column {
    bool nominal = false;
    bool binned = false;  // some ranks stand for several values
    bool infinite = false;  // some value is
    std::vector<double> low;          // the smallest value of each rank, ascending
    std::vector<double> binned_high;  // the largest one, where values were binned; otherwise it is the same
    // The rank of every example that is neither listed nor missing; -1 if all others are listed. For sparse
    // features it stands for zero, for dense ones for a value that more than half of the examples have.
    std::int32_t implicit_rank = -1;
    // Listed examples by (rank, example); not kept where any of them are put in order by counting.
    UnfilledVectorOf<std::int32_t> example, rank;
    std::vector<std::int32_t> missing;        // ascending
    UnfilledVectorOf<std::int32_t> rank_of;   // by example, -1 where missing; only if nothing is implicit

    std::size_t ranks() const { return low.size(); }
    // Ranks that are few for so many examples: to count how many have each of them takes little longer than to look at all.
    bool counted() const { return !rank_of.empty() && few_ranks(ranks(), rank_of.size()); }
    static bool few_ranks(std::size_t ranks, std::size_t examples) {
        constexpr std::size_t kMostRanks = 1024, kExamplesPerRank = 4;
        return ranks <= kMostRanks && kExamplesPerRank * ranks <= examples;
    }
    std::size_t listed() const { return counted() ? rank_of.size() - missing.size() : example.size(); }
    const std::vector<double>& high() const { return binned ? binned_high : low; }
    // The largest rank that satisfies "<= threshold", or -1.
    std::int32_t last_rank_up_to(double threshold) const { return last_rank_up_to(threshold, 0, ranks()); }
    // The same where it is known of all but a few ranks whether they do: those before do, those behind do not.
    std::int32_t last_rank_up_to(double threshold, std::size_t first, std::size_t behind) const {
        const double* const values = high().data();
        return static_cast<std::int32_t>(std::upper_bound(values + first, values + behind, threshold) - values) - 1;
    }
};

struct Columns {
    std::size_t examples = 0;
    std::vector<Column> features;
    std::vector<std::uint64_t> row_keys;  // see matrix.hpp; empty unless found in passing

    bool any_infinite() const {
        return std::any_of(features.begin(), features.end(), [](const Column& column) { return column.infinite; });
    }
    bool any_binned() const {
        return std::any_of(features.begin(), features.end(), [](const Column& column) { return column.binned; });
    }
};

// max_bins: at most so many ranks per numeric feature (quantile bins); 0 for all distinct values.
template <typename T>
Columns columns_from_dense(const DenseMatrix<T>& matrix, std::span<const std::uint8_t> nominal, std::size_t max_bins,
                           ThreadPool& pool, Interrupt& interrupt);

// Compressed sparse columns with valid, sorted, unique indices; absent entries are zero.
template <typename T>
Columns columns_from_csc(std::span<const T> data, std::span<const std::int32_t> indices,
                         std::span<const std::int32_t> indptr, std::size_t examples,
                         std::span<const std::uint8_t> nominal, std::size_t max_bins, ThreadPool& pool,
                         Interrupt& interrupt);

}  // namespace labelboost
