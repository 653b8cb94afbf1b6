// A number for each row of a matrix that depends on its values only: equal rows have equal ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "threads.hpp"

namespace labelboost {

// Whether these are nothing but zeros, of either sign: most entries of text are, so they are passed over many at a time.
template <typename T>
bool all_zero(const T* values, std::size_t count) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    Bits any = 0;
    for (std::size_t i = 0; i < count; ++i) any |= std::bit_cast<Bits>(values[i]);
    return static_cast<Bits>(any << 1) == 0;
}

// out[i] = the sum of the folded values of row i, each times the key of its column. Zeros, of either sign, count for
// nothing; there is but one way to be missing.
template <typename T>
void add_up_row_keys(const T* x, std::size_t rows, std::size_t columns, std::ptrdiff_t row_stride,
                     std::ptrdiff_t column_stride, std::span<const std::uint64_t> column_keys, std::uint64_t* out,
                     Interrupt& interrupt) {
    constexpr std::size_t kEntriesBetweenChecks = 1U << 20, kTogether = 32;
    std::size_t unchecked = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        const T* const row = x + static_cast<std::ptrdiff_t>(i) * row_stride;
        std::uint64_t total = 0;
        for (std::size_t begin = 0; begin < columns; begin += kTogether) {
            const bool whole = column_stride == 1 && begin + kTogether <= columns;
            if (whole && all_zero(row + begin, kTogether)) continue;
            for (std::size_t j = begin; j < std::min(columns, begin + kTogether); ++j) {
                const T value = row[static_cast<std::ptrdiff_t>(j) * column_stride];
                if (value == T(0)) continue;
                const double number =
                    std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
                const auto bits = std::bit_cast<std::uint64_t>(number);
                total += (bits ^ (bits >> 32)) * column_keys[j];
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
