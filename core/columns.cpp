#include "columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "panels.hpp"

namespace labelboost {
namespace {

struct Entry {
    double value;
    std::int32_t example;
};

// What building a column takes, kept from one to the next: there may be many thousands of them with a few values each.
struct Workspace {
    std::vector<Entry> entries, other;
    std::vector<double> distinct;
    std::vector<std::size_t> counts;  // of the distinct values
};

// Groups distinct values into quantile bins: a value goes where the middle of its run of examples falls.
std::vector<std::int32_t> quantile_bins(const std::vector<std::size_t>& counts, std::size_t max_bins) {
    std::size_t total = 0;
    for (const std::size_t count : counts) total += count;
    std::vector<std::int32_t> bin(counts.size());
    std::size_t before = 0;
    std::size_t last = 0;
    std::int32_t used = -1;
    for (std::size_t r = 0; r < counts.size(); ++r) {
        const std::size_t position = (2 * before + counts[r]) * max_bins / (2 * total);
        if (used < 0 || position != last) ++used;
        bin[r] = used;
        last = position;
        before += counts[r];
    }
    return bin;
}

// Replaces the ranks of a column by their bins, and lists the examples by bin: in one pass along the examples, each
// going to the next place of its bin.
void regroup(Column& column, const std::vector<std::int32_t>& bin) {
    if (column.example.empty()) return;
    const std::int32_t last = *std::max_element(column.example.begin(), column.example.end());
    std::vector<std::int32_t> bin_of(static_cast<std::size_t>(last) + 1, -1);
    std::vector<std::size_t> place(column.ranks() + 1, 0);
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        const std::int32_t rank = bin[static_cast<std::size_t>(column.rank[i])];
        if (rank == column.implicit_rank) continue;
        bin_of[static_cast<std::size_t>(column.example[i])] = rank;
        ++place[static_cast<std::size_t>(rank) + 1];
    }
    std::partial_sum(place.begin(), place.end(), place.begin());
    column.example.resize(place.back());
    column.rank.resize(place.back());
    for (std::size_t n = 0; n < bin_of.size(); ++n) {
        if (bin_of[n] < 0) continue;
        const std::size_t target = place[static_cast<std::size_t>(bin_of[n])]++;
        column.example[target] = static_cast<std::int32_t>(n);
        column.rank[target] = bin_of[n];
    }
}

// space.entries: the non-missing examples that do not have the implicit value, sorted by (value, example).
Column build(Workspace& space, std::vector<std::int32_t> missing, bool has_implicit, double implicit,
             std::size_t implicit_count, bool nominal, std::size_t max_bins) {
    Column column;
    column.nominal = nominal;
    column.missing = std::move(missing);
    column.example.resize(space.entries.size());
    column.rank.resize(space.entries.size());
    auto& [entries, other, distinct, counts] = space;
    distinct.clear();
    counts.clear();
    const auto add_rank = [&](double value, std::size_t count) {
        distinct.push_back(value);
        counts.push_back(count);
    };
    bool implicit_open = has_implicit && implicit_count > 0;
    const auto add_implicit = [&] {
        column.implicit_rank = static_cast<std::int32_t>(distinct.size());
        add_rank(implicit, implicit_count);
        implicit_open = false;
    };
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const double value = entries[i].value;
        if (implicit_open && value > implicit) add_implicit();
        // Ranks continue while the value does not change; the implicit value itself is never listed.
        if (distinct.empty() || value > distinct.back()) add_rank(value, 0);
        ++counts.back();
        column.example[i] = entries[i].example;
        column.rank[i] = static_cast<std::int32_t>(distinct.size() - 1);
    }
    if (implicit_open) add_implicit();
    column.infinite = !distinct.empty() && (std::isinf(distinct.front()) || std::isinf(distinct.back()));
    if (max_bins == 0 || nominal || distinct.size() <= max_bins) {
        column.low = distinct;
        return column;
    }
    column.binned = true;
    const std::vector<std::int32_t> bin = quantile_bins(counts, max_bins);
    for (std::size_t r = 0; r < bin.size(); ++r) {
        if (static_cast<std::size_t>(bin[r]) == column.low.size()) {
            column.low.push_back(distinct[r]);
            column.binned_high.push_back(distinct[r]);
        }
        column.binned_high.back() = distinct[r];
    }
    if (column.implicit_rank >= 0) column.implicit_rank = bin[static_cast<std::size_t>(column.implicit_rank)];
    regroup(column, bin);
    return column;
}

// Numbers in the order of the values: for negative ones all bits are turned, for others the first one.
std::uint64_t sort_key(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);  // -0.0 is the same value as 0.0
    return bits ^ (bits >> 63 != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}

// By single digits, the last one first, each pass keeping the order of the one before: a few passes over the entries
// instead of log2(n). Digits that all keys have in common are left out, as are most of those of rounded numbers.
template <int kBits>
void sort_by_digits(std::vector<Entry>& entries, std::vector<Entry>& other) {
    constexpr std::size_t kDigits = std::size_t{1} << kBits;
    std::uint64_t common = 0;
    const std::uint64_t first = sort_key(entries.front().value);
    for (const Entry& entry : entries) common |= sort_key(entry.value) ^ first;
    other.resize(entries.size());
    for (int shift = 0; shift < 64; shift += kBits) {
        const auto digit = [&](std::uint64_t key) { return static_cast<std::size_t>(key >> shift) % kDigits; };
        if (digit(common) == 0) continue;
        std::array<std::uint32_t, kDigits + 1> place{};
        for (const Entry& entry : entries) ++place[digit(sort_key(entry.value)) + 1];
        std::partial_sum(place.begin(), place.end(), place.begin());
        for (const Entry& entry : entries) other[place[digit(sort_key(entry.value))]++] = entry;
        entries.swap(other);
    }
}

// Sorts by (value, example); the examples come in ascending order.
void sort_entries(Workspace& space) {
    std::vector<Entry>& entries = space.entries;
    // Up to so many, comparisons are cheaper, or shorter digits are, of which there are fewer to be counted.
    constexpr std::size_t kFew = 64, kNotMany = 4096;
    const auto before = [](const Entry& a, const Entry& b) {
        return a.value != b.value ? a.value < b.value : a.example < b.example;
    };
    // Features with one value besides zero are sorted already.
    if (std::is_sorted(entries.begin(), entries.end(), before)) return;
    if (entries.size() <= kFew) {
        std::sort(entries.begin(), entries.end(), before);
    } else if (entries.size() <= kNotMany) {
        sort_by_digits<8>(entries, space.other);
    } else {
        sort_by_digits<11>(entries, space.other);
    }
}

// The value that more than half of `entries` have, if any, is taken out of the list. Sorted input.
bool extract_majority(std::vector<Entry>& entries, double& value, std::size_t& count) {
    if (entries.size() < 2) return false;
    value = entries[entries.size() / 2].value;  // a majority covers the middle
    const auto begin = std::lower_bound(entries.begin(), entries.end(), value,
                                        [](const Entry& entry, double v) { return entry.value < v; });
    const auto end = std::upper_bound(entries.begin(), entries.end(), value,
                                      [](double v, const Entry& entry) { return v < entry.value; });
    count = static_cast<std::size_t>(end - begin);
    if (2 * count <= entries.size()) return false;
    entries.erase(begin, end);
    return true;
}

void fill_rank_of(Column& column, std::size_t examples) {
    column.rank_of.assign(examples, -1);
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        column.rank_of[static_cast<std::size_t>(column.example[i])] = column.rank[i];
    }
}

Columns build_all(std::size_t examples, std::size_t features, std::size_t features_per_task, ThreadPool& pool,
                  Interrupt& interrupt, const std::function<void(std::size_t, std::size_t, Column*)>& build_some) {
    Columns columns;
    columns.examples = examples;
    columns.features.resize(features);
    pool.run((features + features_per_task - 1) / features_per_task, interrupt, [&](std::size_t task, std::size_t) {
        interrupt.check();
        const std::size_t begin = task * features_per_task;
        const std::size_t end = std::min(features, begin + features_per_task);
        build_some(begin, end, columns.features.data() + begin);
        for (std::size_t j = begin; j < end; ++j) {
            if (columns.features[j].implicit_rank < 0) fill_rank_of(columns.features[j], examples);
        }
    });
    return columns;
}

template <typename T>
Column dense_column(std::span<const T> values, bool nominal, std::size_t max_bins, Workspace& space) {
    std::vector<Entry>& entries = space.entries;
    std::vector<std::int32_t> missing;
    entries.clear();
    for (std::size_t n = 0; n < values.size(); ++n) {
        if (std::isnan(values[n])) {
            missing.push_back(static_cast<std::int32_t>(n));
        } else {
            entries.push_back({static_cast<double>(values[n]), static_cast<std::int32_t>(n)});
        }
    }
    sort_entries(space);
    double implicit = 0.0;
    std::size_t count = 0;
    const bool has_implicit = extract_majority(entries, implicit, count);
    return build(space, std::move(missing), has_implicit, implicit, count, nominal, max_bins);
}

// A column whose zeros, being the majority, were left out.
template <typename T>
Column sparse_column(std::span<const T> values, std::span<const std::int32_t> examples, std::size_t total, bool nominal,
                     std::size_t max_bins, Workspace& space) {
    std::vector<Entry>& entries = space.entries;
    std::vector<std::int32_t> missing;
    entries.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) {
            missing.push_back(examples[i]);
        } else if (values[i] != T(0)) {
            entries.push_back({static_cast<double>(values[i]), examples[i]});
        }
    }
    sort_entries(space);
    const std::size_t zeros = total - entries.size() - missing.size();
    return build(space, std::move(missing), zeros > 0, 0.0, zeros, nominal, max_bins);
}

// Dense columns of a row-major matrix are copied several at a time, as a cache line holds as many.
template <typename T>
constexpr std::size_t kTogether = 64 / sizeof(T);

template <typename T>
void build_dense_columns(const DenseMatrix<T>& matrix, std::span<const std::size_t> wanted,
                         std::span<const std::uint8_t> nominal, std::size_t max_bins, std::size_t begin,
                         Column* columns, Workspace& space) {
    std::vector<T> copy;
    for (std::size_t first = 0; first < wanted.size(); first += kTogether<T>) {
        const std::span<const std::size_t> group = wanted.subspan(first, std::min(kTogether<T>, wanted.size() - first));
        copy.resize(matrix.examples * group.size());
        for (std::size_t n = 0; n < matrix.examples; ++n) {
            for (std::size_t j = 0; j < group.size(); ++j) copy[j * matrix.examples + n] = *matrix.at(n, group[j]);
        }
        for (std::size_t j = 0; j < group.size(); ++j) {
            const std::span<const T> values(copy.data() + j * matrix.examples, matrix.examples);
            columns[group[j] - begin] = dense_column(values, nominal[group[j]] != 0, max_bins, space);
        }
    }
}

}  // namespace

std::int32_t Column::last_rank_up_to(double threshold) const {
    return static_cast<std::int32_t>(std::upper_bound(high().begin(), high().end(), threshold) - high().begin()) - 1;
}

template <typename T>
Columns columns_from_dense(const DenseMatrix<T>& matrix, std::span<const std::uint8_t> nominal, std::size_t max_bins,
                           ThreadPool& pool, Interrupt& interrupt) {
    const std::size_t examples = matrix.examples, features = matrix.features;
    if (matrix.column_stride != 1) {
        return build_all(examples, features, kTogether<T>, pool, interrupt,
                         [&](std::size_t begin, std::size_t end, Column* columns) {
                             std::vector<std::size_t> all(end - begin);
                             std::iota(all.begin(), all.end(), begin);
                             Workspace space;
                             build_dense_columns(matrix, all, nominal, max_bins, begin, columns, space);
                         });
    }
    std::vector<std::uint64_t> row_keys;
    Panels<T> panels(matrix, pool, interrupt, row_keys);
    const auto build_some = [&](std::size_t begin, std::size_t end, Column* columns) {
        std::vector<std::size_t> dense;
        Workspace space;
        const Panel<T> panel = panels.take(begin / panels.width());
        for (std::size_t j = begin; j < end; ++j) {
            if (panel.dense(j - begin)) {
                dense.push_back(j);
            } else {
                columns[j - begin] = sparse_column(panel.values(j - begin), panel.examples(j - begin), examples,
                                                   nominal[j] != 0, max_bins, space);
            }
        }
        build_dense_columns(matrix, dense, nominal, max_bins, begin, columns, space);
    };
    Columns columns = build_all(examples, features, panels.width(), pool, interrupt, build_some);
    columns.row_keys = std::move(row_keys);
    return columns;
}

template <typename T>
Columns columns_from_csc(std::span<const T> data, std::span<const std::int32_t> indices,
                         std::span<const std::int32_t> indptr, std::size_t examples,
                         std::span<const std::uint8_t> nominal, std::size_t max_bins, ThreadPool& pool,
                         Interrupt& interrupt) {
    constexpr std::size_t kColumns = 32;
    const auto build_some = [&](std::size_t begin, std::size_t end, Column* columns) {
        Workspace space;
        for (std::size_t j = begin; j < end; ++j) {
            const auto first = static_cast<std::size_t>(indptr[j]);
            const std::size_t count = static_cast<std::size_t>(indptr[j + 1]) - first;
            columns[j - begin] = sparse_column(data.subspan(first, count), indices.subspan(first, count), examples,
                                               nominal[j] != 0, max_bins, space);
        }
    };
    return build_all(examples, indptr.size() - 1, kColumns, pool, interrupt, build_some);
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
