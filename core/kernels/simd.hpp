// Vectors of eight doubles in the compiler's own notation: gcc and clang lower them to whatever registers
// the instruction set has, so one source serves all of them.
//
// Everything here has internal linkage and no standard header with inline code is included: a function
// compiled for AVX-512 must never be merged by the linker with its namesake for an older machine.
#pragma once

#include "../layout.hpp"

namespace labelboost {
namespace {

typedef double Vec __attribute__((vector_size(64), may_alias));
typedef long long VecMask __attribute__((vector_size(64)));

inline const Vec& load(const double* p) { return *reinterpret_cast<const Vec*>(p); }
inline Vec& store(double* p) { return *reinterpret_cast<Vec*>(p); }
inline Vec broadcast(double x) { return Vec{x, x, x, x, x, x, x, x}; }
inline Vec select(VecMask mask, Vec yes, Vec no) {
    return reinterpret_cast<Vec>((mask & reinterpret_cast<VecMask>(yes)) | (~mask & reinterpret_cast<VecMask>(no)));
}
inline Vec absolute(Vec x) {
    const VecMask sign_off = VecMask{} + 0x7fffffffffffffffLL;
    return reinterpret_cast<Vec>(reinterpret_cast<VecMask>(x) & sign_off);
}
inline Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }
inline Vec square_root(Vec x) {
    Vec out;
    for (std::size_t i = 0; i < kLanes; ++i) out[i] = __builtin_sqrt(x[i]);
    return out;
}
inline double sum(Vec x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

// v[i][j] <-> v[j][i] for eight vectors.
inline void transpose(Vec (&v)[kLanes]) {
    Vec a[kLanes], b[kLanes];
    for (std::size_t i = 0; i < 4; ++i) {
        a[i] = __builtin_shufflevector(v[i], v[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        a[i + 4] = __builtin_shufflevector(v[i], v[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (std::size_t half = 0; half < 8; half += 4) {
        for (std::size_t i = 0; i < 2; ++i) {
            b[half + i] = __builtin_shufflevector(a[half + i], a[half + i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[half + i + 2] = __builtin_shufflevector(a[half + i], a[half + i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (std::size_t i = 0; i < 8; i += 2) {
        v[i] = __builtin_shufflevector(b[i], b[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        v[i + 1] = __builtin_shufflevector(b[i], b[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
}

}  // namespace
}  // namespace labelboost
