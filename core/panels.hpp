// The entries of a dense matrix that are not zero, column by column: most matrices with many columns are nearly empty.
//
// Memory is read fast only in its own order, so whole rows are looked through in one pass. What is found goes to one list per
// panel, that is 512 neighbouring columns, which is turned from the order of rows to that of columns when it is that
// panel's turn: two passes along it instead of another place in memory for every single entry.
// Where that would need too much memory, there are no lists: such a matrix is better taken apart column by column.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "nonzero.hpp"
#include "threads.hpp"

namespace labelboost {

template <typename T>
struct PanelEntry {
    T value;
    std::int32_t example;
    std::uint16_t column;  // of the panel
};
template <typename T>
using PanelList = std::vector<PanelEntry<T>>;

// The values of a panel's columns. A column with at least as many values as zeros is dense, and has none here.
template <typename T>
class Panel {
public:
    // lists: ascending in the examples, from one to the next as well.
    Panel(std::size_t examples, std::size_t width, std::span<const PanelList<T>> lists)
        : dense_from_((examples + 1) / 2), count_(width, 0), end_(width) {
        for (const PanelList<T>& list : lists) {
            for (const PanelEntry<T>& entry : list) ++count_[entry.column];
        }
        std::size_t total = 0;
        for (std::size_t j = 0; j < width; ++j) {
            end_[j] = total;  // so far where it begins
            total += dense(j) ? 0 : count_[j];
        }
        value_.resize(total);
        example_.resize(total);
        for (const PanelList<T>& list : lists) {
            for (const PanelEntry<T>& entry : list) {
                if (dense(entry.column)) continue;
                const std::size_t place = end_[entry.column]++;
                value_[place] = entry.value;
                example_[place] = entry.example;
            }
        }
    }
    bool dense(std::size_t j) const { return count_[j] >= dense_from_; }
    std::span<const T> values(std::size_t j) const { return std::span(value_).subspan(end_[j] - count_[j], count_[j]); }
    std::span<const std::int32_t> examples(std::size_t j) const {
        return std::span(example_).subspan(end_[j] - count_[j], count_[j]);
    }

private:
    std::size_t dense_from_;           // values
    std::vector<std::size_t> count_;   // of values, by column
    std::vector<std::size_t> end_;     // of a column's values
    std::vector<T> value_;
    std::vector<std::int32_t> example_;
};

// Looks through a matrix with rows that lie together in memory.
template <typename T>
class Panels {
public:
    static constexpr std::size_t kWidth = 512;

    Panels(const DenseMatrix<T>& matrix, ThreadPool& pool, Interrupt& interrupt)
        : matrix_(matrix), parts_(pool.size()), lists_(parts_ * panels()), row_keys_(matrix.examples) {
        const std::size_t most_bytes = std::max(kBytes, matrix.examples * matrix.features * sizeof(T) / 8);
        const std::size_t most = most_bytes / sizeof(PanelEntry<T>);
        std::atomic<std::size_t> room = most;
        std::atomic<bool> enough{true};
        pool.run(parts_, interrupt, [&](std::size_t part, std::size_t) {
            std::vector<std::uint32_t> found(matrix.features, 0);
            const std::size_t first = part * matrix.examples / parts_, last = (part + 1) * matrix.examples / parts_;
            for (std::size_t n = first; n < last && enough; ++n) {
                if ((n - first) % kRowsBetweenChecks == 0) interrupt.check();
                std::size_t listed = 0;
                std::uint64_t key = 0;
                for (std::size_t p = 0; p < panels(); ++p) {
                    PanelList<T>& list = lists_[p * parts_ + part];
                    if (n - first == kRowsBetweenChecks) {  // which tell how long the list will be, more or less
                        const std::size_t expected = list.size() * (last - first) / kRowsBetweenChecks;
                        if (expected > 2 * most / parts_) enough = false;
                        list.reserve(std::min(expected, 2 * most / lists_.size()));
                    }
                    listed += list_row(n, p, found.data() + p * kWidth, list,
                                       [&](T value, std::size_t j) { key += entry_key(value, j); });
                }
                row_keys_[n] = key;
                if (room.fetch_sub(listed) < listed) enough = false;
            }
        });
        if (enough) return;
        lists_ = {};
        row_keys_ = {};
    }

    bool listed() const { return !lists_.empty(); }
    // Each of them once, as its lists are gone then.
    Panel<T> take(std::size_t p) {
        const std::span<PanelList<T>> own(lists_.data() + p * parts_, parts_);
        Panel<T> panel(matrix_.examples, std::min(kWidth, matrix_.features - p * kWidth), own);
        for (PanelList<T>& list : own) list = {};
        return panel;
    }
    // Those of all rows (see matrix.hpp), as their entries are seen here anyway.
    std::vector<std::uint64_t> take_row_keys() { return std::move(row_keys_); }

private:
    static constexpr std::size_t kBytes = 64U << 20;
    static constexpr std::size_t kRowsBetweenChecks = 64;

    std::size_t panels() const { return (matrix_.features + kWidth - 1) / kWidth; }

    // Half of a column's entries are enough to know that it is dense. Returns how many were listed. visit(value, column): for
    // each that is not zero.
    template <typename Visit>
    std::size_t list_row(std::size_t n, std::size_t p, std::uint32_t* found, PanelList<T>& list, const Visit& visit) const {
        const std::size_t dense_from = (matrix_.examples + 1) / 2, before = list.size();
        const T* const row = matrix_.at(n, p * kWidth);
        for_each_nonzero(row, std::min(kWidth, matrix_.features - p * kWidth), [&](std::size_t j) {
            visit(row[j], p * kWidth + j);
            if (found[j]++ >= dense_from) return;
            list.push_back({row[j], static_cast<std::int32_t>(n), static_cast<std::uint16_t>(j)});
        });
        return list.size() - before;
    }

    DenseMatrix<T> matrix_;
    std::size_t parts_;                 // of the rows, with lists of their own
    std::vector<PanelList<T>> lists_;   // by panel and part; none if they would be too long
    std::vector<std::uint64_t> row_keys_;
};

}  // namespace labelboost
