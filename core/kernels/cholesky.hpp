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

// One system at a time, vectorised along the columns: for dimensions whose eight systems outgrow the cache.
double factorise(double* system, std::size_t stride, std::size_t n, double noise, std::size_t begin, std::size_t end) {
    double total = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
        double* row = system + i * stride;
        const double diagonal = row[i];
        for (std::size_t c = i / kLanes * kLanes; c <= n; c += 2 * kLanes) {
            const std::size_t second = c + kLanes < stride ? c + kLanes : c;  // the stride is a multiple of kLanes
            Vec first_total = load(row + c);
            Vec second_total = load(row + second);
            const double* above = system;
            for (std::size_t k = 0; k < i; ++k, above += stride) {
                first_total -= above[i] * load(above + c);
                second_total -= above[i] * load(above + second);
            }
            store(row + c) = first_total;
            store(row + second) = second_total;
        }
        const double floor = kSingular * diagonal > noise ? kSingular * diagonal : noise;
        const double pivot = row[i];
        const double inverse = pivot > floor ? 1.0 / __builtin_sqrt(pivot) : 0.0;
        for (std::size_t j = i; j <= n; ++j) row[j] *= inverse;
        total += row[n] * row[n];
    }
    return -0.5 * total;
}

// Rows [begin, end) of the inverse of the upper triangle, those behind being done already: each is a combination of
// the rows below it. Cost of all: K^3 / 6.
bool invert_factor(const double* system, std::size_t stride, std::size_t n, std::size_t begin, std::size_t end,
                   double* inverse) {
    for (std::size_t i = end; i-- > begin;) {
        const double* factors = system + i * stride;
        double* row = inverse + i * stride;
        if (!(factors[i] > 0.0)) return false;
        for (std::size_t c = 0; c < stride; c += kLanes) store(row + c) = Vec{};
        std::size_t j = i + 1;
        for (; j + 4 <= n; j += 4) {
            const double* below = inverse + j * stride;
            for (std::size_t c = j / kLanes * kLanes; c < stride; c += kLanes) {
                store(row + c) -= factors[j] * load(below + c) + factors[j + 1] * load(below + stride + c) +
                                  factors[j + 2] * load(below + 2 * stride + c) +
                                  factors[j + 3] * load(below + 3 * stride + c);
            }
        }
        for (; j < n; ++j) {
            const double* below = inverse + j * stride;
            for (std::size_t c = j / kLanes * kLanes; c < stride; c += kLanes) store(row + c) -= factors[j] * load(below + c);
        }
        row[i] += 1.0;
        const double scale = 1.0 / factors[i];
        for (std::size_t c = i / kLanes * kLanes; c < stride; c += kLanes) store(row + c) *= scale;
    }
    return true;
}

void apply_inverse(const double* inverse, std::size_t stride, std::size_t n, const double* vector, double* scratch,
                   double* out) {
    const std::size_t padded = padded_size(n);
    for (std::size_t c = 0; c < padded; c += kLanes) {
        store(scratch + c) = Vec{};
        store(out + c) = Vec{};
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double* row = inverse + i * stride;
        for (std::size_t c = i / kLanes * kLanes; c < padded; c += kLanes) store(scratch + c) += vector[i] * load(row + c);
    }
    for (std::size_t i = 0; i < n; ++i) {
        const double* row = inverse + i * stride;
        Vec total = {};
        for (std::size_t c = i / kLanes * kLanes; c < padded; c += kLanes) total += load(row + c) * load(scratch + c);
        out[i] = sum(total);
    }
}

}  // namespace
}  // namespace labelboost
