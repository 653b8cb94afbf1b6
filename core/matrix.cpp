// Both questions take no longer than it takes to read the matrix once from memory.
#include "matrix.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"
#include "nonzero.hpp"

namespace labelboost {
namespace {

// work(row) -> bool, until one returns true, and whether one did.
template <typename T, typename Work>
bool any_row(const DenseMatrix<T>& x, Interrupt& interrupt, const Work& work) {
    constexpr std::size_t kEntriesBetweenChecks = 1U << 20;
    std::size_t unchecked = 0;
    for (std::size_t i = 0; i < x.examples; ++i) {
        if (work(i)) return true;
        unchecked += x.features;
        if (unchecked < kEntriesBetweenChecks) continue;
        unchecked = 0;
        interrupt.check();
    }
    return false;
}

template <typename T>
DenseMatrix<T> transposed(const DenseMatrix<T>& x) {
    return {x.data, x.features, x.examples, x.column_stride, x.row_stride};
}

bool any_infinite_of(const float* values, std::size_t count) { return active_kernels().any_infinite_float(values, count); }
bool any_infinite_of(const double* values, std::size_t count) { return active_kernels().any_infinite_double(values, count); }

}  // namespace

template <typename T>
bool any_infinite(const DenseMatrix<T>& x, Interrupt& interrupt) {
    if (x.column_stride != 1 && x.row_stride == 1) return any_infinite(transposed(x), interrupt);
    return any_row(x, interrupt, [&](std::size_t i) {
        if (x.column_stride == 1) return any_infinite_of(x.at(i, 0), x.features);
        for (std::size_t j = 0; j < x.features; ++j) {
            if (std::isinf(*x.at(i, j))) return true;
        }
        return false;
    });
}

template <typename T>
void add_up_row_keys(const DenseMatrix<T>& x, std::uint64_t* out, Interrupt& interrupt) {
    std::fill_n(out, x.examples, std::uint64_t{0});
    if (x.row_stride == 1) {
        any_row(transposed(x), interrupt, [&](std::size_t j) {
            const T* const column = x.at(0, j);
            for_each_nonzero(column, x.examples, [&](std::size_t i) { out[i] += entry_key(column[i], j); });
            return false;
        });
        return;
    }
    any_row(x, interrupt, [&](std::size_t i) {
        const T* const row = x.at(i, 0);
        if (x.column_stride == 1) {
            for_each_nonzero(row, x.features, [&](std::size_t j) { out[i] += entry_key(row[j], j); });
        } else {
            for (std::size_t j = 0; j < x.features; ++j) {
                const T value = *x.at(i, j);
                if (value != T(0)) out[i] += entry_key(value, j);
            }
        }
        return false;
    });
}

template bool any_infinite<float>(const DenseMatrix<float>&, Interrupt&);
template bool any_infinite<double>(const DenseMatrix<double>&, Interrupt&);
template void add_up_row_keys<float>(const DenseMatrix<float>&, std::uint64_t*, Interrupt&);
template void add_up_row_keys<double>(const DenseMatrix<double>&, std::uint64_t*, Interrupt&);

}  // namespace labelboost
