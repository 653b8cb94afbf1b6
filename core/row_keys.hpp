// A number for each row of a matrix that depends on its values only: equal rows have equal ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "nonzero.hpp"
#include "threads.hpp"

namespace labelboost {

// out[i] = the sum of the folded values of row i, each times the key of its column. Zeros, of either sign, count for
// nothing; there is but one way to be missing.
template <typename T>
void add_up_row_keys(const T* x, std::size_t rows, std::size_t columns, std::ptrdiff_t row_stride,
                     std::ptrdiff_t column_stride, std::span<const std::uint64_t> column_keys, std::uint64_t* out,
                     Interrupt& interrupt) {
    constexpr std::size_t kEntriesBetweenChecks = 1U << 20;
    std::size_t unchecked = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const T* const row = x + static_cast<std::ptrdiff_t>(i) * row_stride;
        std::uint64_t total = 0;
        const auto add = [&](T value, std::size_t j) {
            const double number = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
            const auto bits = std::bit_cast<std::uint64_t>(number);
            total += (bits ^ (bits >> 32)) * column_keys[j];
        };
        if (column_stride == 1) {
            for_each_nonzero(row, columns, [&](std::size_t j) { add(row[j], j); });
        } else {
            for (std::size_t j = 0; j < columns; ++j) {
                const T value = row[static_cast<std::ptrdiff_t>(j) * column_stride];
                if (value != T(0)) add(value, j);
            }
        }
        out[i] = total;
        unchecked += columns;
        if (unchecked < kEntriesBetweenChecks) continue;
        unchecked = 0;
        interrupt.check();
    }
}

}  // namespace labelboost
