// A dense matrix of features as it is handed in, and what is asked of it as a whole.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "random.hpp"
#include "threads.hpp"

namespace labelboost {

template <typename T>
struct DenseMatrix {
    const T* data;
    std::size_t examples, features;  // rows and columns
    std::ptrdiff_t row_stride, column_stride;

    const T* at(std::size_t row, std::size_t column) const {
        return data + static_cast<std::ptrdiff_t>(row) * row_stride + static_cast<std::ptrdiff_t>(column) * column_stride;
    }
};

// Whether any number is infinite.
template <typename T>
bool any_infinite(const DenseMatrix<T>& x, Interrupt& interrupt);

// A number for each row that depends on its values only: equal rows have equal ones. It is the sum of what each entry counts
// for. Zeros, of either sign, count for nothing; there is but one way to be missing.
template <typename T>
void add_up_row_keys(const DenseMatrix<T>& x, std::uint64_t* out, Interrupt& interrupt);

template <typename T>
std::uint64_t entry_key(T value, std::size_t column) {
    const double number = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
    const auto bits = std::bit_cast<std::uint64_t>(number);
    return (bits ^ (bits >> 32)) * (mix(column) | 1);
}

}  // namespace labelboost
