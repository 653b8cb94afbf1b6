// Vectors of eight doubles in the compiler's own notation: gcc and clang lower them to whatever registers
// the instruction set has, so one source serves all of them.
//
// Everything here has internal linkage and no standard header with inline code is included: a function
// compiled for AVX-512 must never be merged by the linker with its namesake for an older machine.
#pragma once

#include "kernels.hpp"

namespace labelboost {
namespace {

typedef double Vec __attribute__((vector_size(64), may_alias));
typedef long long VecMask __attribute__((vector_size(64)));
typedef float VecF __attribute__((vector_size(64), may_alias));
typedef int VecFMask __attribute__((vector_size(64)));

// Code for both precisions is written for the type of an element.
template <typename T>
struct Lanes;
template <>
struct Lanes<double> {
    typedef Vec Vector;
    typedef VecMask Mask;
    static constexpr std::size_t kCount = 8;
};
template <>
struct Lanes<float> {
    typedef VecF Vector;
    typedef VecFMask Mask;
    static constexpr std::size_t kCount = 16;
};
constexpr std::size_t kWide = Lanes<float>::kCount;
template <typename T>
using VecOf = typename Lanes<T>::Vector;
template <typename T>
using MaskOf = typename Lanes<T>::Mask;

// Vectors that fill one register. Sums that are to stay in registers need them: the compiler keeps wider ones in
// memory, which made add_heads eight times slower with AVX2.
#if defined(__AVX512F__)
constexpr std::size_t kRegister = 64;
#elif defined(__AVX__)
constexpr std::size_t kRegister = 32;
#else
constexpr std::size_t kRegister = 16;
#endif
typedef double Part __attribute__((vector_size(kRegister), may_alias));
constexpr std::size_t kPartLanes = kRegister / sizeof(double);
constexpr std::size_t kParts = kLanes / kPartLanes;  // of kLanes doubles

inline const Part& load_part(const double* p) { return *reinterpret_cast<const Part*>(p); }
inline Part& store_part(double* p) { return *reinterpret_cast<Part*>(p); }

inline const Vec& load(const double* p) { return *reinterpret_cast<const Vec*>(p); }
inline Vec& store(double* p) { return *reinterpret_cast<Vec*>(p); }
inline const VecF& load(const float* p) { return *reinterpret_cast<const VecF*>(p); }
inline VecF& store(float* p) { return *reinterpret_cast<VecF*>(p); }
typedef float HalfF __attribute__((vector_size(32), may_alias));
// Eight numbers of either precision.
inline Vec load_doubles(const double* p) { return load(p); }
inline Vec load_doubles(const float* p) {
    const HalfF x = *reinterpret_cast<const HalfF*>(p);
#if defined(__AVX512F__) && !defined(__clang__)
    return __builtin_ia32_cvtps2pd512_mask(x, Vec{}, -1, 4);  // gcc would take it apart: two halves, one after the other
#else
    return __builtin_convertvector(x, Vec);
#endif
}
inline void store_rounded(float* p, Vec x) {
#if defined(__AVX512F__) && !defined(__clang__)
    *reinterpret_cast<HalfF*>(p) = __builtin_ia32_cvtpd2ps512_mask(x, HalfF{}, -1, 4);
#else
    *reinterpret_cast<HalfF*>(p) = __builtin_convertvector(x, HalfF);
#endif
}
inline VecF load_anywhere(const float* p) {
    VecF x;
    __builtin_memcpy(&x, p, sizeof(x));
    return x;
}
inline void store_anywhere(float* p, VecF x) { __builtin_memcpy(p, &x, sizeof(x)); }
// The numbers from c on of a section of a row; of the last row nothing behind the section may be stored.
inline void store_section(float* section, std::size_t c, std::size_t size, VecF x, bool last) {
    if (!last || c + kWide <= size) {
        store_anywhere(section + c, x);
    } else {
        for (std::size_t i = 0; c + i < size; ++i) section[c + i] = x[i];
    }
}
// Sixteen of 16 or 32 numbers, by their places.
template <std::size_t kCount>
inline VecF pick(const float* numbers, VecFMask places) {
#if defined(__AVX512F__)
    const VecF low = *reinterpret_cast<const VecF*>(numbers);
    const VecF high = kCount > kWide ? *reinterpret_cast<const VecF*>(numbers + kWide) : low;
#if defined(__clang__)
    return __builtin_ia32_vpermi2varps512(low, places, high);
#else
    return __builtin_shuffle(low, high, places);
#endif
#else
    VecF out;
    for (std::size_t i = 0; i < kWide; ++i) out[i] = numbers[places[i]];
    return out;
#endif
}
inline Vec broadcast(double x) { return Vec{} + x; }
inline VecF broadcast(float x) { return VecF{} + x; }
inline Vec select(VecMask mask, Vec yes, Vec no) {
    return reinterpret_cast<Vec>((mask & reinterpret_cast<VecMask>(yes)) | (~mask & reinterpret_cast<VecMask>(no)));
}
inline VecF select(VecFMask mask, VecF yes, VecF no) {
    return reinterpret_cast<VecF>((mask & reinterpret_cast<VecFMask>(yes)) | (~mask & reinterpret_cast<VecFMask>(no)));
}
inline Vec absolute(Vec x) { return reinterpret_cast<Vec>(reinterpret_cast<VecMask>(x) & 0x7fffffffffffffffLL); }
inline VecF absolute(VecF x) { return reinterpret_cast<VecF>(reinterpret_cast<VecFMask>(x) & 0x7fffffff); }
inline Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }
inline VecF maximum(VecF a, VecF b) { return select(a > b, a, b); }
inline VecF minimum(VecF a, VecF b) { return select(a < b, a, b); }
inline Vec minimum(Vec a, Vec b) { return select(a < b, a, b); }
inline Vec square_root(Vec x) {
    Vec out;
    for (std::size_t i = 0; i < 8; ++i) out[i] = __builtin_sqrt(x[i]);
    return out;
}
inline VecF square_root(VecF x) {
    VecF out;
    for (std::size_t i = 0; i < 16; ++i) out[i] = __builtin_sqrtf(x[i]);
    return out;
}
// 1 / sqrt(x) for x > 0; in single precision the last digit may be wrong.
inline Vec inverse_root(Vec x) { return 1.0 / square_root(x); }
inline VecF inverse_root(VecF x) {
#if defined(__AVX512F__)
    const VecF guess = __builtin_ia32_rsqrt14ps512_mask(x, VecF{}, static_cast<unsigned short>(0xffff));
    return guess * (1.5f - 0.5f * x * guess * guess);
#else
    return 1.0f / square_root(x);
#endif
}
inline VecF round_down(VecF x) {
    VecF out;
    for (std::size_t i = 0; i < 16; ++i) out[i] = __builtin_floorf(x[i]);
    return out;
}
inline Vec round_down(Vec x) {
    Vec out;
    for (std::size_t i = 0; i < 8; ++i) out[i] = __builtin_floor(x[i]);
    return out;
}
// Which elements are negative, one bit each, and whether any is.
inline unsigned negative_bits(VecFMask mask) {
#if defined(__AVX512DQ__)
    return static_cast<unsigned short>(__builtin_ia32_cvtd2mask512(mask));
#else
    unsigned bits = 0;
    for (std::size_t i = 0; i < kWide; ++i) bits |= (static_cast<unsigned>(mask[i]) >> 31) << i;
    return bits;
#endif
}
inline bool any(VecFMask mask) { return negative_bits(mask) != 0; }
inline double smallest(Vec x) {
    x = minimum(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
    x = minimum(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
    return x[0] < x[1] ? x[0] : x[1];
}
// By quarters, which every instruction set has registers for: element by element it would take twice as many operations.
// The order of additions is fixed.
typedef float QuarterF __attribute__((vector_size(16)));
typedef double Quarter __attribute__((vector_size(16)));
inline float sum(VecF x) {
    const QuarterF first = __builtin_shufflevector(x, x, 0, 1, 2, 3), second = __builtin_shufflevector(x, x, 4, 5, 6, 7);
    const QuarterF third = __builtin_shufflevector(x, x, 8, 9, 10, 11), last = __builtin_shufflevector(x, x, 12, 13, 14, 15);
    const QuarterF parts = (first + second) + (third + last);
    const QuarterF pairs = parts + __builtin_shufflevector(parts, parts, 1, 0, 3, 2);
    return pairs[0] + pairs[2];
}
inline double sum(Vec x) {
    const Quarter first = __builtin_shufflevector(x, x, 0, 1), second = __builtin_shufflevector(x, x, 2, 3);
    const Quarter third = __builtin_shufflevector(x, x, 4, 5), last = __builtin_shufflevector(x, x, 6, 7);
    const Quarter pairs = __builtin_shufflevector(first, third, 0, 2) + __builtin_shufflevector(first, third, 1, 3);
    const Quarter others = __builtin_shufflevector(second, last, 0, 2) + __builtin_shufflevector(second, last, 1, 3);
    const Quarter fours = pairs + others;
    return fours[0] + fours[1];
}

// The elements one place further up or down, with a zero in the place that is left.
inline VecF shift_up(VecF x) {
    return __builtin_shufflevector(VecF{}, x, 0, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
}
inline VecF shift_down(VecF x) {
    return __builtin_shufflevector(x, VecF{}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
}
// Sums of the elements up to each place, and from each place on.
inline VecF running_sums(VecF x) {
    x += shift_up(x);
    x += __builtin_shufflevector(VecF{}, x, 0, 1, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29);
    x += __builtin_shufflevector(VecF{}, x, 0, 1, 2, 3, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27);
    x += __builtin_shufflevector(VecF{}, x, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    return x;
}
inline VecF reverse_running_sums(VecF x) {
    x += shift_down(x);
    x += __builtin_shufflevector(x, VecF{}, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
    x += __builtin_shufflevector(x, VecF{}, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
    x += __builtin_shufflevector(x, VecF{}, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23);
    return x;
}

// The same for four groups of four elements each, and their last elements.
inline VecF shift_up_in_groups(VecF x) {
    return __builtin_shufflevector(VecF{}, x, 0, 16, 17, 18, 0, 20, 21, 22, 0, 24, 25, 26, 0, 28, 29, 30);
}
inline VecF shift_down_in_groups(VecF x) {
    return __builtin_shufflevector(VecF{}, x, 17, 18, 19, 0, 21, 22, 23, 0, 25, 26, 27, 0, 29, 30, 31, 0);
}
inline VecF running_sums_in_groups(VecF x) {
    x += shift_up_in_groups(x);
    return x + __builtin_shufflevector(VecF{}, x, 0, 0, 16, 17, 0, 0, 20, 21, 0, 0, 24, 25, 0, 0, 28, 29);
}
inline VecF reverse_running_sums_in_groups(VecF x) {
    x += shift_down_in_groups(x);
    return x + __builtin_shufflevector(VecF{}, x, 18, 19, 0, 0, 22, 23, 0, 0, 26, 27, 0, 0, 30, 31, 0, 0);
}
inline VecF last_of_groups(VecF x) {
    return __builtin_shufflevector(x, x, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
}

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

// The same for sixteen vectors of single precision: blocks of 8, 4, 2 and 1 change places in turn.
inline void transpose(VecF (&v)[16]) {
    VecF a[16];
    for (std::size_t i = 0; i < 8; ++i) {
        a[i] = __builtin_shufflevector(v[i], v[i + 8], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
        a[i + 8] = __builtin_shufflevector(v[i], v[i + 8], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    }
    for (std::size_t base = 0; base < 16; base += 8) {
        for (std::size_t i = base; i < base + 4; ++i) {
            v[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
            v[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
        }
    }
    for (std::size_t base = 0; base < 16; base += 4) {
        for (std::size_t i = base; i < base + 2; ++i) {
            a[i] = __builtin_shufflevector(v[i], v[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
            a[i + 2] = __builtin_shufflevector(v[i], v[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
        }
    }
    for (std::size_t i = 0; i < 16; i += 2) {
        v[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30);
        v[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31);
    }
}

}  // namespace
}  // namespace labelboost
