#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "digits.hpp"
#include "panels.hpp"

namespace labelboost {
namespace {

template <typename T>
struct Entry {
    T value;
    std::int32_t example;
};

// What building a column takes, kept from one to the next: there may be many thousands of them with a few values each, and
// to get the memory for many values from the system takes longer than to fill it.
template <typename T>
struct Workspace {
    UnfilledVectorOf<T> copy;  // of some columns
    // The examples that are neither missing nor left out as zeros; first in their own order.
    UnfilledVectorOf<Entry<T>> entries, other;
    UnfilledVectorOf<SortKey<T>> keys, other_keys;
    std::vector<T> high;                // the largest value of each bin
    std::vector<std::size_t> counts;    // of examples, by bin
    std::vector<std::int32_t> missing;
};

// How a column is to be made of the entries. Zeros, if any were left out of them, are implicit; a value that more than half
// of the entries have can be.
struct Plan {
    std::size_t examples;
    std::size_t zeros;
    bool majority;
    bool nominal;
    std::size_t max_bins;
};

// The value that more than half of sorted items have, if any: a majority covers the middle.
template <typename Item, typename KeyOf>
std::span<const Item> majority_of(const UnfilledVectorOf<Item>& items, const KeyOf& key_of) {
    if (items.size() < 2) return {};
    const auto run = std::ranges::equal_range(items, key_of(items[items.size() / 2]), {}, key_of);
    if (2 * run.size() <= items.size()) return {};
    return {run.begin(), run.end()};
}

// By distinct values: examples are sorted along with them.
template <typename T>
void rank_values(Workspace<T>& space, const Plan& plan, Column& column) {
    auto& entries = space.entries;
    const auto key_of = [](const Entry<T>& entry) { return sort_key(entry.value); };
    sort_by_key(entries, space.other, key_of);
    T implicit = T(0);
    std::size_t implicit_count = plan.zeros;
    if (plan.majority) {
        const std::span<const Entry<T>> majority = majority_of(entries, key_of);
        implicit_count = majority.size();
        if (!majority.empty()) {
            implicit = majority.front().value;
            const auto first = entries.begin() + (majority.data() - entries.data());
            entries.erase(first, first + static_cast<std::ptrdiff_t>(majority.size()));
        }
    }
    const auto add_implicit = [&] {
        column.implicit_rank = static_cast<std::int32_t>(column.low.size());
        column.low.push_back(static_cast<double>(implicit));
        implicit_count = 0;
    };
    column.example.resize(entries.size());
    column.rank.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const T value = entries[i].value;
        if (implicit_count > 0 && value > implicit) add_implicit();
        // Ranks continue while the value does not change; the implicit value itself is never listed.
        if (column.low.empty() || static_cast<double>(value) > column.low.back()) {
            column.low.push_back(static_cast<double>(value));
        }
        column.example[i] = entries[i].example;
        column.rank[i] = static_cast<std::int32_t>(column.low.size() - 1);
    }
    if (implicit_count > 0) add_implicit();
}

// All values in their order, zeros that were left out included; those that are equal are a run.
template <typename T>
class SortedValues {
public:
    struct Run {
        std::size_t begin, end;
        T value;
    };

    SortedValues(const UnfilledVectorOf<SortKey<T>>& keys, std::size_t zeros)
        : keys_(keys), zeros_(zeros), before_(position_of(std::ranges::lower_bound(keys, kZero))) {}

    std::size_t size() const { return keys_.size() + zeros_; }
    Run run_at(std::size_t i) const {
        if (zeros_ > 0 && i >= before_ && i < before_ + zeros_) return {before_, before_ + zeros_, T(0)};
        const std::size_t skipped = i >= before_ + zeros_ ? zeros_ : 0;
        const auto place = keys_.begin() + static_cast<std::ptrdiff_t>(i - skipped);
        const SortKey<T> key = *place;
        // Most values are the only ones of their kind, or have very many equal to them.
        const bool first = place == keys_.begin() || place[-1] != key, last = place + 1 == keys_.end() || place[1] != key;
        const auto begin = first ? place : std::lower_bound(keys_.begin(), place, key);
        const auto end = last ? place + 1 : std::upper_bound(place, keys_.end(), key);
        return {position_of(begin) + skipped, position_of(end) + skipped, number_of<T>(key)};
    }

private:
    static inline const SortKey<T> kZero = sort_key(T(0));
    std::size_t position_of(auto place) const { return static_cast<std::size_t>(place - keys_.begin()); }

    const UnfilledVectorOf<SortKey<T>>& keys_;
    std::size_t zeros_;
    std::size_t before_;  // how many are less than zero
};

// Groups distinct values into quantile bins, unless they are few: a value goes where the middle of its run of examples falls.
// Cost: some binary searches for each bin.
template <typename T>
void find_bins(Workspace<T>& space, const Plan& plan, Column& column) {
    const SortedValues<T> sorted(space.keys, plan.zeros);
    const std::size_t total = sorted.size();
    using Run = typename SortedValues<T>::Run;
    std::size_t values = 0;
    for (std::size_t i = 0; i < total && values <= plan.max_bins; i = sorted.run_at(i).end) ++values;
    column.binned = values > plan.max_bins;
    space.high.clear();
    space.counts.clear();
    for (std::size_t begin = 0, end = 0; begin < total; begin = end) {
        const Run first = sorted.run_at(begin);
        Run last = first;
        if (column.binned) {
            // The next bin begins with the first run whose middle, times the number of bins, is not below `next`. In front
            // of the run with the example that is this far none can be, and behind it all are.
            const std::size_t next = ((first.begin + first.end) * plan.max_bins / (2 * total) + 1) * (2 * total);
            const std::size_t there = next / (2 * plan.max_bins);
            last = sorted.run_at(std::min(there, total - 1));
            const bool is_next = (last.begin + last.end) * plan.max_bins >= next;
            if (is_next) last = sorted.run_at(last.begin - 1);
        }
        end = last.end;
        column.low.push_back(static_cast<double>(first.value));
        space.high.push_back(last.value);
        space.counts.push_back(end - begin);
    }
    if (column.binned) column.binned_high.assign(space.high.begin(), space.high.end());
}

// For each value the first bin whose largest value is not below. Nobody could foresee branches, so there are none; and one
// step of a search waits for the one before, so many are under way at a time.
constexpr std::size_t kSearches = 32;
template <typename T>
void find_bins_of(const std::vector<T>& high, const T* values, std::uint32_t* bins) {
    std::fill_n(bins, kSearches, 0U);
    for (auto left = static_cast<std::uint32_t>(high.size()); left > 1;) {
        const std::uint32_t half = left / 2;
        const T* const last = high.data() + (half - 1);
        for (std::size_t i = 0; i < kSearches; ++i) bins[i] += half & -static_cast<std::uint32_t>(last[bins[i]] < values[i]);
        left -= half;
    }
}

// By bins: values are sorted on their own, then each example goes to the next place of its bin, in one pass.
template <typename T>
void rank_bins(Workspace<T>& space, const Plan& plan, Column& column) {
    const auto& entries = space.entries;
    space.keys.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) space.keys[i] = sort_key(entries[i].value);
    const auto itself = [](SortKey<T> key) { return key; };
    sort_by_key(space.keys, space.other_keys, itself);
    find_bins(space, plan, column);
    const std::span<const SortKey<T>> majority =
        plan.majority ? majority_of(space.keys, itself) : std::span<const SortKey<T>>{};
    if (plan.zeros > 0 || !majority.empty()) {
        const T implicit = plan.zeros > 0 ? T(0) : number_of<T>(majority.front());
        const auto bin = static_cast<std::size_t>(std::ranges::lower_bound(space.high, implicit) - space.high.begin());
        column.implicit_rank = static_cast<std::int32_t>(bin);
        space.counts[bin] = 0;
    } else {
        column.rank_of.resize(plan.examples);
        for (const std::int32_t example : space.missing) column.rank_of[static_cast<std::size_t>(example)] = -1;
    }
    // visit(example, bin), for all of them.
    const auto for_each_bin = [&](const auto& visit) {
        T values[kSearches] = {};
        std::uint32_t bins[kSearches];
        for (std::size_t first = 0; first < entries.size(); first += kSearches) {
            const std::size_t count = std::min(kSearches, entries.size() - first);
            for (std::size_t i = 0; i < count; ++i) values[i] = entries[first + i].value;
            find_bins_of(space.high, values, bins);
            for (std::size_t i = 0; i < count; ++i) visit(entries[first + i].example, bins[i]);
        }
    };
    if (column.counted()) {
        for_each_bin([&](std::int32_t example, std::uint32_t bin) {
            column.rank_of[static_cast<std::size_t>(example)] = static_cast<std::int32_t>(bin);
        });
        return;
    }
    std::size_t listed = 0;
    for (std::size_t& count : space.counts) listed += std::exchange(count, listed);  // where each bin begins, then
    column.example.resize(listed);
    column.rank.resize(listed);
    for_each_bin([&](std::int32_t example, std::uint32_t bin) {
        const auto rank = static_cast<std::int32_t>(bin);
        if (rank == column.implicit_rank) return;
        if (column.implicit_rank < 0) column.rank_of[static_cast<std::size_t>(example)] = rank;
        const std::size_t place = space.counts[bin]++;
        column.example[place] = example;
        column.rank[place] = rank;
    });
}

void fill_rank_of(Column& column, std::span<const std::int32_t> missing, std::size_t examples) {
    column.rank_of.resize(examples);
    for (const std::int32_t example : missing) column.rank_of[static_cast<std::size_t>(example)] = -1;
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        column.rank_of[static_cast<std::size_t>(column.example[i])] = column.rank[i];
    }
    if (!column.counted()) return;
    column.example = {};
    column.rank = {};
}

template <typename T>
Column build(Workspace<T>& space, const Plan& plan) {
    Column column;
    column.nominal = plan.nominal;
    if (plan.max_bins > 0 && !plan.nominal) {
        rank_bins(space, plan, column);
    } else {
        rank_values(space, plan, column);
        if (column.implicit_rank < 0) fill_rank_of(column, space.missing, plan.examples);
    }
    column.missing = space.missing;
    column.infinite = column.ranks() > 0 && (std::isinf(column.low.front()) || std::isinf(column.high().back()));
    return column;
}

// values: of some examples, in their order; zeros are left out. examples: those, or nothing if it is all of them.
template <typename T>
Column sparse_column(std::span<const T> values, std::span<const std::int32_t> examples, Plan plan, Workspace<T>& space) {
    space.entries.clear();
    space.missing.clear();
    for_each_nonzero(values.data(), values.size(), [&](std::size_t i) {
        const std::int32_t example = examples.empty() ? static_cast<std::int32_t>(i) : examples[i];
        if (std::isnan(values[i])) {
            space.missing.push_back(example);
        } else {
            space.entries.push_back({values[i], example});
        }
    });
    plan.zeros = plan.examples - space.entries.size() - space.missing.size();
    return build(space, plan);
}

// values: of all examples.
template <typename T>
Column dense_column(std::span<const T> values, Plan plan, Workspace<T>& space) {
    const auto zeros = static_cast<std::size_t>(std::count(values.begin(), values.end(), T(0)));
    if (zeros > values.size() / 2) return sparse_column(values, {}, plan, space);
    space.entries.resize(values.size());
    space.missing.clear();
    std::size_t listed = 0;
    for (std::size_t n = 0; n < values.size(); ++n) {
        const auto example = static_cast<std::int32_t>(n);
        space.entries[listed] = {values[n], example};
        if (std::isnan(values[n])) {
            space.missing.push_back(example);
        } else {
            ++listed;
        }
    }
    space.entries.resize(listed);
    plan.majority = true;
    return build(space, plan);
}

// What all columns have in common, and memory for each thread.
template <typename T>
class Builder {
public:
    Builder(std::size_t examples, std::span<const std::uint8_t> nominal, std::size_t max_bins, ThreadPool& pool,
            Interrupt& interrupt)
        : nominal_(nominal), max_bins_(max_bins), pool_(pool), interrupt_(interrupt), spaces_(pool.size()) {
        columns_.examples = examples;
        columns_.features.resize(nominal.size());
    }

    // build(begin, end, thread), for pieces of so many columns.
    template <typename Build>
    void build_some(std::size_t count, std::size_t together, const Build& build) {
        pool_.run((count + together - 1) / together, interrupt_, [&](std::size_t task, std::size_t thread) {
            interrupt_.check();
            const std::size_t begin = task * together;
            build(begin, std::min(count, begin + together), thread);
        });
    }
    Columns take() { return std::move(columns_); }

    void add_sparse(std::size_t j, std::span<const T> values, std::span<const std::int32_t> examples, std::size_t thread) {
        columns_.features[j] = sparse_column(values, examples, plan(j), spaces_[thread]);
    }

    // Columns of a row-major matrix are copied several at a time, as a cache line holds as many.
    static constexpr std::size_t kTogether = 64 / sizeof(T);

    void add_dense(const DenseMatrix<T>& matrix, std::span<const std::size_t> wanted, std::size_t thread) {
        Workspace<T>& space = spaces_[thread];
        const std::size_t examples = matrix.examples;
        for (std::size_t first = 0; first < wanted.size(); first += kTogether) {
            const auto group = wanted.subspan(first, std::min(kTogether, wanted.size() - first));
            space.copy.resize(examples * group.size());
            for (std::size_t n = 0; n < examples; ++n) {
                for (std::size_t j = 0; j < group.size(); ++j) space.copy[j * examples + n] = *matrix.at(n, group[j]);
            }
            for (std::size_t j = 0; j < group.size(); ++j) {
                const std::span<const T> values(space.copy.data() + j * examples, examples);
                columns_.features[group[j]] = dense_column(values, plan(group[j]), space);
                interrupt_.check();
            }
        }
    }

private:
    Plan plan(std::size_t j) const { return {columns_.examples, 0, false, nominal_[j] != 0, max_bins_}; }

    std::span<const std::uint8_t> nominal_;
    std::size_t max_bins_;
    ThreadPool& pool_;
    Interrupt& interrupt_;
    std::vector<Workspace<T>> spaces_;
    Columns columns_;
};

}  // namespace

template <typename T>
Columns columns_from_dense(const DenseMatrix<T>& matrix, std::span<const std::uint8_t> nominal, std::size_t max_bins,
                           ThreadPool& pool, Interrupt& interrupt) {
    Builder<T> builder(matrix.examples, nominal, max_bins, pool, interrupt);
    std::vector<std::size_t> dense(nominal.size());
    std::iota(dense.begin(), dense.end(), std::size_t{0});
    std::vector<std::uint64_t> row_keys;
    if (matrix.column_stride == 1) {
        Panels<T> panels(matrix, pool, interrupt);
        if (panels.listed()) {
            std::vector<std::uint8_t> is_dense(nominal.size());
            builder.build_some(nominal.size(), panels.kWidth, [&](std::size_t begin, std::size_t end, std::size_t thread) {
                const Panel<T> panel = panels.take(begin / panels.kWidth);
                for (std::size_t j = begin; j < end; ++j) {
                    is_dense[j] = panel.dense(j - begin) ? 1 : 0;
                    if (is_dense[j] != 0) continue;
                    builder.add_sparse(j, panel.values(j - begin), panel.examples(j - begin), thread);
                }
            });
            std::erase_if(dense, [&](std::size_t j) { return is_dense[j] == 0; });
            row_keys = panels.take_row_keys();
        }
    }
    builder.build_some(dense.size(), builder.kTogether, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        builder.add_dense(matrix, std::span(dense).subspan(begin, end - begin), thread);
    });
    Columns columns = builder.take();
    columns.row_keys = std::move(row_keys);
    return columns;
}

template <typename T>
Columns columns_from_csc(std::span<const T> data, std::span<const std::int32_t> indices,
                         std::span<const std::int32_t> indptr, std::size_t examples,
                         std::span<const std::uint8_t> nominal, std::size_t max_bins, ThreadPool& pool,
                         Interrupt& interrupt) {
    constexpr std::size_t kColumns = 32;
    Builder<T> builder(examples, nominal, max_bins, pool, interrupt);
    builder.build_some(nominal.size(), kColumns, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        for (std::size_t j = begin; j < end; ++j) {
            const auto first = static_cast<std::size_t>(indptr[j]);
            const std::size_t count = static_cast<std::size_t>(indptr[j + 1]) - first;
            builder.add_sparse(j, data.subspan(first, count), indices.subspan(first, count), thread);
        }
    });
    return builder.take();
}

template Columns columns_from_dense<float>(const DenseMatrix<float>&, std::span<const std::uint8_t>, std::size_t,
                                           ThreadPool&, Interrupt&);
template Columns columns_from_dense<double>(const DenseMatrix<double>&, std::span<const std::uint8_t>, std::size_t,
                                            ThreadPool&, Interrupt&);
template Columns columns_from_csc<float>(std::span<const float>, std::span<const std::int32_t>,
                                         std::span<const std::int32_t>, std::size_t, std::span<const std::uint8_t>,
                                         std::size_t, ThreadPool&, Interrupt&);
template Columns columns_from_csc<double>(std::span<const double>, std::span<const std::int32_t>,
                                          std::span<const std::int32_t>, std::size_t, std::span<const std::uint8_t>,
                                          std::size_t, ThreadPool&, Interrupt&);

}  // namespace labelboost
