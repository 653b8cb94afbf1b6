// Cholesky factorisation and forward substitution, of eight interleaved systems or of a single one.
//
// Both walk row by row over the upper triangle U with A = U^T U. The right-hand side is one more column, so
// forward substitution costs no code of its own. An unknown whose pivot vanishes is dropped: its row becomes
// zero, and so does its score. That keeps l2 = 0 and dependent labels finite.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// Interleaved layout: element (i, j), j in [i, n], of all eight systems stands in one vector; column n is the
// right-hand side. Returned is the number of vectors before row i.
inline std::size_t lane_row(std::size_t i, std::size_t n) { return i * (n + 2) - i * (i + 1) / 2; }

// Subtracts sum_{k < i} U[k][i] U[k][j] for kColumns columns from j on.
template <std::size_t kColumns>
inline void reduce_columns(double* system, std::size_t n, std::size_t i, std::size_t j) {
    double* own = system + kLanes * (lane_row(i, n) + (j - i));
    Vec total[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) total[c] = load(own + kLanes * c);
    const double* row = system;
    for (std::size_t k = 0; k < i; ++k) {
        const Vec factor = load(row + kLanes * (i - k));
        for (std::size_t c = 0; c < kColumns; ++c) total[c] -= factor * load(row + kLanes * (j + c - k));
        row += kLanes * (n + 1 - k);
    }
    for (std::size_t c = 0; c < kColumns; ++c) store(own + kLanes * c) = total[c];
}

void score_lanes(double* system, std::size_t n, double noise, double* quality) {
    Vec total = {};
    for (std::size_t i = 0; i < n; ++i) {
        double* row = system + kLanes * lane_row(i, n);
        const Vec diagonal = load(row);
        std::size_t j = i;
        for (; j + 4 <= n + 1; j += 4) reduce_columns<4>(system, n, i, j);
        for (; j <= n; ++j) reduce_columns<1>(system, n, i, j);
        const Vec pivot = load(row);
        const VecMask usable = pivot > maximum(kSingular * diagonal, broadcast(noise));
        const Vec safe = select(usable, pivot, broadcast(1.0));
        const Vec inverse = select(usable, 1.0 / square_root(safe), Vec{});
        for (std::size_t c = 1; c <= n - i; ++c) store(row + kLanes * c) *= inverse;
        const Vec z = load(row + kLanes * (n - i));
        total += z * z;
    }
    store(quality) = -0.5 * total;
}

// One system at a time, vectorised along the columns: for dimensions whose eight systems outgrow the cache.
double factorise(double* system, std::size_t stride, std::size_t n, double noise) {
    double total = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
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

}  // namespace
}  // namespace labelboost
