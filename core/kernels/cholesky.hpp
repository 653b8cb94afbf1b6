// Cholesky factorisation and forward substitution, of interleaved systems (one per vector lane) or of a single one.
//
// Both walk row by row over the upper triangle U with A = U^T U. The right-hand side is one more column, so
// forward substitution costs no code of its own. An unknown whose pivot vanishes is dropped: its row becomes
// zero, and so does its score. That keeps l2 = 0 and dependent labels finite.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// Interleaved layout: element (i, j), j in [i, n], of all systems stands in one vector; column n is the
// right-hand side. Returned is the number of vectors before row i.
inline std::size_t lane_row(std::size_t i, std::size_t n) { return i * (n + 2) - i * (i + 1) / 2; }

// Subtracts sum_{k < i} U[k][i] U[k][j] for kColumns columns from j on.
template <typename T, std::size_t kColumns>
inline void reduce_columns(T* system, std::size_t n, std::size_t i, std::size_t j) {
    constexpr std::size_t kStep = Lanes<T>::kCount;
    T* own = system + kStep * (lane_row(i, n) + (j - i));
    VecOf<T> total[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) total[c] = load(own + kStep * c);
    const T* row = system;
    for (std::size_t k = 0; k < i; ++k) {
        const VecOf<T> factor = load(row + kStep * (i - k));
        for (std::size_t c = 0; c < kColumns; ++c) total[c] -= factor * load(row + kStep * (j + c - k));
        row += kStep * (n + 1 - k);
    }
    for (std::size_t c = 0; c < kColumns; ++c) store(own + kStep * c) = total[c];
}

// The qualities of interleaved systems, which are replaced by U with the inverses of its diagonal elements. `lost` receives
// whether less than this share of a diagonal element is left in its pivot, so that few digits of the result are right.
template <typename T>
inline VecOf<T> factorise_lanes(T* system, std::size_t n, T noise, T least_kept, MaskOf<T>* lost) {
    constexpr std::size_t kStep = Lanes<T>::kCount;
    const VecOf<T> one = broadcast(T(1));
    VecOf<T> total = {};
    for (std::size_t i = 0; i < n; ++i) {
        T* row = system + kStep * lane_row(i, n);
        const VecOf<T> diagonal = load(row);
        std::size_t j = i;
        for (; j + 4 <= n + 1; j += 4) reduce_columns<T, 4>(system, n, i, j);
        for (; j <= n; ++j) reduce_columns<T, 1>(system, n, i, j);
        const VecOf<T> pivot = load(row);
        const MaskOf<T> usable = pivot > maximum(T(kSingular) * diagonal, broadcast(noise));
        const VecOf<T> inverse = select(usable, inverse_root(select(usable, pivot, one)), VecOf<T>{});
        // Unknowns with an empty row have nothing to lose.
        if (lost != nullptr) *lost |= (diagonal > broadcast(noise)) & ~(pivot >= least_kept * diagonal);
        store(row) = inverse;
        for (std::size_t c = 1; c <= n - i; ++c) store(row + kStep * c) *= inverse;
        const VecOf<T> z = load(row + kStep * (n - i));
        total += z * z;
    }
    return T(-0.5) * total;
}

void score_lanes(double* system, std::size_t n, double noise, double* quality) {
    store(quality) = factorise_lanes<double>(system, n, noise, 0.0, nullptr);
}

// Takes what the first `above` rows contribute off kRows rows below them, in two registers' worth of columns: these
// stay in registers, and there are enough of them that none waits for the one before.
template <std::size_t kRows>
inline void eliminate(double* system, std::size_t stride, std::size_t above, std::size_t first, std::size_t c,
                      std::size_t second) {
    Part left[kRows], right[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
        left[r] = load_part(system + (first + r) * stride + c);
        right[r] = load_part(system + (first + r) * stride + second);
    }
    const double* row = system;
    for (std::size_t k = 0; k < above; ++k, row += stride) {
        const Part x = load_part(row + c), y = load_part(row + second);
        for (std::size_t r = 0; r < kRows; ++r) {
            left[r] -= row[first + r] * x;
            right[r] -= row[first + r] * y;
        }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
        store_part(system + (first + r) * stride + c) = left[r];
        store_part(system + (first + r) * stride + second) = right[r];
    }
}

template <std::size_t kRows>
inline void eliminate_all(double* system, std::size_t stride, std::size_t n, std::size_t above, std::size_t first) {
    for (std::size_t c = first / kLanes * kLanes; c <= n; c += 2 * kPartLanes) {
        // The stride is a multiple of kLanes: there may be one part left, which is taken twice.
        eliminate<kRows>(system, stride, above, first, c, c + kPartLanes < stride ? c + kPartLanes : c);
    }
}

// One system at a time, vectorised along the columns: for dimensions whose eight systems outgrow the cache.
double factorise(double* system, std::size_t stride, std::size_t n, double noise, std::size_t begin, std::size_t end) {
    constexpr std::size_t kTogether = 4;
    double total = 0.0;
    for (std::size_t first = begin; first < end; first += kTogether) {
        const std::size_t rows = first + kTogether <= end ? kTogether : end - first;
        double diagonal[kTogether];
        for (std::size_t r = 0; r < rows; ++r) diagonal[r] = system[(first + r) * (stride + 1)];
        if (rows == kTogether) eliminate_all<kTogether>(system, stride, n, first, first);
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t i = first + r;
            double* const row = system + i * stride;
            if (rows == kTogether) {
                for (std::size_t k = first; k < i; ++k) {
                    const double* const above = system + k * stride;
                    const double factor = above[i];
                    for (std::size_t c = i / kLanes * kLanes; c <= n; c += kLanes) store(row + c) -= factor * load(above + c);
                }
            } else {
                eliminate_all<1>(system, stride, n, i, i);
            }
            const double floor = kSingular * diagonal[r] > noise ? kSingular * diagonal[r] : noise;
            const double pivot = row[i];
            const double inverse = pivot > floor ? 1.0 / __builtin_sqrt(pivot) : 0.0;
            for (std::size_t j = i; j <= n; ++j) row[j] *= inverse;
            total += row[n] * row[n];
        }
    }
    return -0.5 * total;
}

// The solution of a factorised system; unknowns that were dropped are 0. solution: padded.
void back_substitute(const double* system, std::size_t stride, std::size_t n, double* solution) {
    for (std::size_t c = 0; c < padded_size(n); c += kLanes) store(solution + c) = Vec{};
    for (std::size_t i = n; i-- > 0;) {
        const double* const row = system + i * stride;
        if (row[i] == 0.0) continue;
        double rest = row[n];
        const std::size_t block = padded_size(i + 1);  // what stands before the diagonal is of no use
        for (std::size_t j = i + 1; j < block && j < n; ++j) rest -= row[j] * solution[j];
        Vec known = {};
        for (std::size_t c = block; c < n; c += kLanes) known += load(row + c) * load(solution + c);
        solution[i] = (rest - sum(known)) / row[i];
    }
}

// The solution of a factorised system for another right-hand side, eight unknowns at a time, of which no one may have been
// dropped. It takes about as long as a product with the inverse would, which would have to be found first. Cost: K^2.
void solve_factored(const double* system, std::size_t stride, std::size_t n, const double* inverse_diagonal,
                    const double* vector, double* scratch, double* solution) {
    const std::size_t padded = padded_size(n);
    for (std::size_t c = 0; c < padded; c += kLanes) store(scratch + c) = load(vector + c);
    for (std::size_t first = 0; first < n; first += kLanes) {  // U^T y = vector
        const std::size_t rows = first + kLanes <= n ? kLanes : n - first;
        const double* const top = system + first * stride;
        Vec block = load(scratch + first);
        for (std::size_t r = 0; r < rows; ++r) {
            const double y = block[r] * inverse_diagonal[first + r];
            scratch[first + r] = y;
            block -= y * load(top + r * stride + first);  // what stands before the diagonal changes what is found already
        }
        const double* const known = scratch + first;
        for (std::size_t c = first + kLanes; c < n; c += kLanes) {
            Vec even = load(scratch + c), odd = {};
            for (std::size_t r = 0; r < kLanes; r += 2) {
                even -= known[r] * load(top + r * stride + c);
                odd += known[r + 1] * load(top + (r + 1) * stride + c);
            }
            store(scratch + c) = even - odd;
        }
    }
    for (std::size_t first = padded; first > 0;) {  // U solution = y
        first -= kLanes;
        const std::size_t rows = first + kLanes <= n ? kLanes : n - first;
        const double* const top = system + first * stride;
        Vec products[kLanes] = {};
        for (std::size_t c = first + kLanes; c < n; c += kLanes) {
            const Vec known = load(solution + c);
            for (std::size_t r = 0; r < kLanes; ++r) products[r] += load(top + r * stride + c) * known;
        }
        transpose(products);
        Vec rest = load(scratch + first);
        for (const Vec& part : products) rest -= part;
        double found[kLanes] = {};
        for (std::size_t r = rows; r-- > 0;) {
            double value = rest[r];
            for (std::size_t j = rows; j-- > r + 1;) value -= top[r * stride + first + j] * found[j];
            found[r] = value * inverse_diagonal[first + r];
        }
        __builtin_memcpy(solution + first, found, sizeof(found));
    }
}

}  // namespace
}  // namespace labelboost
