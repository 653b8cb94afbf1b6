// What the kernels do with vectors: one source serves all instruction sets (see vectors.hpp).
//
// Everything here has internal linkage and no standard header with inline code is included: a function
// compiled for AVX-512 must never be merged by the linker with its namesake for an older machine.
#pragma once

#include "vectors.hpp"

namespace labelboost {
namespace {

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

// What fills one register, for sums of which as many as possible are to stay in registers.
typedef Native<double> Part;
constexpr std::size_t kPartLanes = kRegister / sizeof(double);
constexpr std::size_t kParts = kLanes / kPartLanes;  // of kLanes doubles

inline const Part& load_part(const double* p) { return *reinterpret_cast<const Part*>(p); }
inline Part& store_part(double* p) { return *reinterpret_cast<Part*>(p); }

// Register by register: gcc copies pairs in other pieces, and whoever needs a register has to wait for them.
template <typename T>
inline VecOf<T> load(const T* p) {
    return build<T>([&](std::size_t first) { return *reinterpret_cast<const Native<T>*>(p + first); });
}
inline Vec& store(double* p) { return *reinterpret_cast<Vec*>(p); }
inline VecF& store(float* p) { return *reinterpret_cast<VecF*>(p); }
typedef float HalfF __attribute__((vector_size(32), may_alias));
typedef NativeType<float, kRegister / 2>::Type NarrowF;  // as many as there are doubles in a register
// Eight numbers of either precision.
inline Vec load_doubles(const double* p) { return load(p); }
inline Vec load_doubles(const float* p) {
#if defined(__AVX512F__) && !defined(__clang__)
    // gcc would take it apart: two halves, one after the other
    return __builtin_ia32_cvtps2pd512_mask(*reinterpret_cast<const HalfF*>(p), Vec{}, -1, 4);
#else
    return build<double>([&](std::size_t first) {
        return __builtin_convertvector(*reinterpret_cast<const NarrowF*>(p + first), Part);
    });
#endif
}
inline void store_rounded(float* p, const Vec& x) {
#if defined(__AVX512F__) && !defined(__clang__)
    *reinterpret_cast<HalfF*>(p) = __builtin_ia32_cvtpd2ps512_mask(x, HalfF{}, -1, 4);
#else
    for (std::size_t first = 0; first < kLanes; first += kPartLanes) {
        *reinterpret_cast<NarrowF*>(p + first) = __builtin_convertvector(native_part(x, first), NarrowF);
    }
#endif
}
// Whole numbers, without their fractions.
inline void store_integers(std::int32_t* p, const Vec& x) {
    typedef std::int32_t Integers __attribute__((vector_size(kRegister / 2), aligned(4), may_alias));
    for (std::size_t first = 0; first < kLanes; first += kPartLanes) {
        *reinterpret_cast<Integers*>(p + first) = __builtin_convertvector(native_part(x, first), Integers);
    }
}
inline VecF load_anywhere(const float* p) {
    return build<float>([&](std::size_t first) {
        Native<float> part;
        __builtin_memcpy(&part, p + first, sizeof(part));
        return part;
    });
}
inline void store_anywhere(float* p, const VecF& x) {
    for (std::size_t first = 0; first < kWide; first += kRegister / sizeof(float)) {
        const Native<float> part = native_part(x, first);
        __builtin_memcpy(p + first, &part, sizeof(part));
    }
}
// The numbers from c on of a section of a row; of the last row nothing behind the section may be stored.
inline void store_section(float* section, std::size_t c, std::size_t size, VecF x, bool last) {
    if (!last || c + kWide <= size) {
        store_anywhere(section + c, x);
    } else {
        for (std::size_t i = 0; c + i < size; ++i) section[c + i] = x[i];
    }
}
// lane(i): element number i.
template <typename T, typename Lane>
inline VecOf<T> from_lanes(const Lane& lane) {
    return build<T>([&](std::size_t first) {
        Native<T> part = {};
        for (std::size_t i = 0; i < kRegister / sizeof(T); ++i) part[i] = lane(first + i);
        return part;
    });
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
    return from_lanes<float>([&](std::size_t i) { return numbers[places[i]]; });
#endif
}
inline Vec broadcast(double x) { return Vec{} + x; }
inline VecF broadcast(float x) { return VecF{} + x; }
inline Vec select(VecMask mask, Vec yes, Vec no) {
    return as<Vec>((mask & as<VecMask>(yes)) | (~mask & as<VecMask>(no)));
}
inline VecF select(VecFMask mask, VecF yes, VecF no) {
    return as<VecF>((mask & as<VecFMask>(yes)) | (~mask & as<VecFMask>(no)));
}
inline Vec absolute(Vec x) { return as<Vec>(as<VecMask>(x) & 0x7fffffffffffffffLL); }
// Whole numbers from 0 to 2^22 as integers: their last bits, once 2^23 is added.
inline VecFMask integers(VecF x) { return as<VecFMask>(x + 8388608.0f) & 0x7fffff; }
inline VecF absolute(VecF x) { return as<VecF>(as<VecFMask>(x) & 0x7fffffff); }
inline Vec maximum(Vec a, Vec b) { return select(a > b, a, b); }
inline VecF maximum(VecF a, VecF b) { return select(a > b, a, b); }
inline VecF minimum(VecF a, VecF b) { return select(a < b, a, b); }
inline Vec minimum(Vec a, Vec b) { return select(a < b, a, b); }
// The same function of every element.
template <typename T, typename Function>
inline VecOf<T> map(const VecOf<T>& x, const Function& function) {
    return from_lanes<T>([&](std::size_t i) { return function(x[i]); });
}
inline Vec square_root(Vec x) {
    return map<double>(x, [](double number) { return __builtin_sqrt(number); });
}
inline VecF square_root(VecF x) {
    return map<float>(x, [](float number) { return __builtin_sqrtf(number); });
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
    return map<float>(x, [](float number) { return __builtin_floorf(number); });
}
inline Vec round_down(Vec x) {
    return map<double>(x, [](double number) { return __builtin_floor(number); });
}
// Which elements are negative, one bit each, and whether any is.
inline unsigned negative_bits(VecFMask mask) {
#if defined(__AVX512DQ__)
    return static_cast<unsigned short>(__builtin_ia32_cvtd2mask512(mask));
#else
    unsigned bits = 0;
#if defined(__AVX__)
    for (std::size_t i = 0; i < kWide; i += 8) {
        bits |= static_cast<unsigned>(__builtin_ia32_movmskps256(as<Native<float>>(native_part(mask, i)))) << i;
    }
#elif defined(__SSE__)
    for (std::size_t i = 0; i < kWide; i += 4) {
        bits |= static_cast<unsigned>(__builtin_ia32_movmskps(as<Native<float>>(native_part(mask, i)))) << i;
    }
#else
    for (std::size_t i = 0; i < kWide; ++i) bits |= (static_cast<unsigned>(mask[i]) >> 31) << i;
#endif
    return bits;
#endif
}
inline bool any(VecFMask mask) { return negative_bits(mask) != 0; }
// Quarters, which every instruction set has registers for.
typedef NativeType<float, 16>::Type QuarterF;
typedef NativeType<double, 16>::Type Quarter;
template <std::size_t kNumber>
inline QuarterF quarter(const VecF& x) {
    const Native<float>& part = native_part(x, 4 * kNumber);
    constexpr int k = static_cast<int>(4 * kNumber % (kRegister / sizeof(float)));
    return __builtin_shufflevector(part, part, k, k + 1, k + 2, k + 3);
}
template <std::size_t kNumber>
inline Quarter quarter(const Vec& x) {
    const Native<double>& part = native_part(x, 2 * kNumber);
    constexpr int k = static_cast<int>(2 * kNumber % (kRegister / sizeof(double)));
    return __builtin_shufflevector(part, part, k, k + 1);
}
// By quarters, as element by element it would take twice as many operations. The order of additions is fixed.
inline double smallest(Vec x) {
    const auto smaller = [](Quarter a, Quarter b) {
        return Quarter{a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
    };
    const Quarter four = smaller(smaller(quarter<0>(x), quarter<2>(x)), smaller(quarter<1>(x), quarter<3>(x)));
    return four[0] < four[1] ? four[0] : four[1];
}
inline float smallest(VecF x) {
    const auto smaller = [](QuarterF a, QuarterF b) { return a < b ? a : b; };
    const QuarterF parts = smaller(smaller(quarter<0>(x), quarter<1>(x)), smaller(quarter<2>(x), quarter<3>(x)));
    const QuarterF pairs = smaller(parts, __builtin_shufflevector(parts, parts, 1, 0, 3, 2));
    return pairs[0] < pairs[2] ? pairs[0] : pairs[2];
}
inline float sum(VecF x) {
    const QuarterF parts = (quarter<0>(x) + quarter<1>(x)) + (quarter<2>(x) + quarter<3>(x));
    const QuarterF pairs = parts + __builtin_shufflevector(parts, parts, 1, 0, 3, 2);
    return pairs[0] + pairs[2];
}
inline double sum(Vec x) {
    const Quarter first = quarter<0>(x), second = quarter<1>(x), third = quarter<2>(x), last = quarter<3>(x);
    const Quarter pairs = __builtin_shufflevector(first, third, 0, 2) + __builtin_shufflevector(first, third, 1, 3);
    const Quarter others = __builtin_shufflevector(second, last, 0, 2) + __builtin_shufflevector(second, last, 1, 3);
    const Quarter fours = pairs + others;
    return fours[0] + fours[1];
}

#if defined(__AVX512F__)
// The elements so many places further up or down, with zeros in the places that are left.
template <int kBy>
inline VecF shift_up(VecF x) {
    constexpr auto from = [](int i) { return i < kBy ? i : 16 + i - kBy; };
    return __builtin_shufflevector(VecF{}, x, from(0), from(1), from(2), from(3), from(4), from(5), from(6), from(7),
                                   from(8), from(9), from(10), from(11), from(12), from(13), from(14), from(15));
}
template <int kBy>
inline VecF shift_down(VecF x) {
    return __builtin_shufflevector(x, VecF{}, kBy, kBy + 1, kBy + 2, kBy + 3, kBy + 4, kBy + 5, kBy + 6, kBy + 7, kBy + 8,
                                   kBy + 9, kBy + 10, kBy + 11, kBy + 12, kBy + 13, kBy + 14, kBy + 15);
}
// In each group of four elements the given ones of that group, 0 to 3 of x and 4 to 7 of y.
template <int k0, int k1, int k2, int k3>
inline VecF shuffle_groups(VecF x, VecF y) {
    constexpr auto from = [](int k, int group) { return 4 * group + (k < 4 ? k : 12 + k); };
    return __builtin_shufflevector(x, y, from(k0, 0), from(k1, 0), from(k2, 0), from(k3, 0), from(k0, 1), from(k1, 1),
                                   from(k2, 1), from(k3, 1), from(k0, 2), from(k1, 2), from(k2, 2), from(k3, 2),
                                   from(k0, 3), from(k1, 3), from(k2, 3), from(k3, 3));
}
#else
inline VecF join(QuarterF a, QuarterF b, QuarterF c, QuarterF d) {
#if defined(__AVX__)
    return {__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7), __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7)};
#else
    return {{a, b}, {c, d}};
#endif
}
template <int k0, int k1, int k2, int k3>
inline VecF shuffle_groups(VecF x, VecF y) {
    const auto shuffled = [](QuarterF a, QuarterF b) { return __builtin_shufflevector(a, b, k0, k1, k2, k3); };
    return join(shuffled(quarter<0>(x), quarter<0>(y)), shuffled(quarter<1>(x), quarter<1>(y)),
                shuffled(quarter<2>(x), quarter<2>(y)), shuffled(quarter<3>(x), quarter<3>(y)));
}
// kBy: up to four, or eight.
template <int kBy>
inline VecF shift_up(VecF x) {
    const QuarterF none = {};
    if constexpr (kBy == 8) {
        return join(none, none, quarter<0>(x), quarter<1>(x));
    } else {
        const VecF before = join(none, quarter<0>(x), quarter<1>(x), quarter<2>(x));
        return shuffle_groups<4 - kBy, 5 - kBy, 6 - kBy, 7 - kBy>(before, x);
    }
}
template <int kBy>
inline VecF shift_down(VecF x) {
    const QuarterF none = {};
    if constexpr (kBy == 8) {
        return join(quarter<2>(x), quarter<3>(x), none, none);
    } else {
        const VecF behind = join(quarter<1>(x), quarter<2>(x), quarter<3>(x), none);
        return shuffle_groups<kBy, kBy + 1, kBy + 2, kBy + 3>(x, behind);
    }
}
#endif

// Sums of the elements up to each place, and from each place on.
inline VecF running_sums(VecF x) {
    x += shift_up<1>(x);
    x += shift_up<2>(x);
    x += shift_up<4>(x);
    return x + shift_up<8>(x);
}
inline VecF reverse_running_sums(VecF x) {
    x += shift_down<1>(x);
    x += shift_down<2>(x);
    x += shift_down<4>(x);
    return x + shift_down<8>(x);
}

// The same for four groups of four elements each, and their last elements.
inline VecF shift_up_in_groups(VecF x) { return shuffle_groups<0, 4, 5, 6>(VecF{}, x); }
inline VecF shift_down_in_groups(VecF x) { return shuffle_groups<1, 2, 3, 4>(x, VecF{}); }
inline VecF running_sums_in_groups(VecF x) {
    x += shift_up_in_groups(x);
    return x + shuffle_groups<0, 0, 4, 5>(VecF{}, x);
}
inline VecF reverse_running_sums_in_groups(VecF x) {
    x += shift_down_in_groups(x);
    return x + shuffle_groups<2, 3, 4, 4>(x, VecF{});
}
inline VecF last_of_groups(VecF x) { return shuffle_groups<3, 3, 3, 3>(x, x); }

// v[i][j] <-> v[j][i] for as many vectors as they have elements: blocks of half of them change places, and so on.
template <typename V>
inline void transpose_natives(V (&v)[2]) {
    const V a = v[0], b = v[1];
    v[0] = __builtin_shufflevector(a, b, 0, 2);
    v[1] = __builtin_shufflevector(a, b, 1, 3);
}
template <typename V>
inline void transpose_natives(V (&v)[4]) {
    V a[4];
    for (std::size_t i = 0; i < 2; ++i) {
        a[i] = __builtin_shufflevector(v[i], v[i + 2], 0, 1, 4, 5);
        a[i + 2] = __builtin_shufflevector(v[i], v[i + 2], 2, 3, 6, 7);
    }
    for (std::size_t i = 0; i < 4; i += 2) {
        v[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
        v[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
    }
}
template <typename V>
inline void transpose_natives(V (&v)[8]) {
    V a[8], b[8];
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
template <typename V>
inline void transpose_natives(V (&v)[16]) {
    V a[16];
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

// The same for longer vectors, in squares of whole registers: those on both sides of the diagonal change places.
template <typename T, std::size_t kCount>
inline void transpose_squares(VecOf<T> (&v)[kCount]) {
    constexpr std::size_t kSide = kRegister / sizeof(T);
    T* const numbers = reinterpret_cast<T*>(v);
    const auto at = [&](std::size_t row, std::size_t column) -> Native<T>& {
        return *reinterpret_cast<Native<T>*>(numbers + kCount * row + column);
    };
    struct Square {
        Native<T> rows[kSide];
    };
    const auto transposed = [&](std::size_t row, std::size_t column) {
        Square square;
        for (std::size_t r = 0; r < kSide; ++r) square.rows[r] = at(row + r, column);
        transpose_natives(square.rows);
        return square;
    };
    const auto put = [&](std::size_t row, std::size_t column, const Square& square) {
        for (std::size_t r = 0; r < kSide; ++r) at(row + r, column) = square.rows[r];
    };
    for (std::size_t i = 0; i < kCount; i += kSide) {
        for (std::size_t j = 0; j < i; j += kSide) {
            const Square below = transposed(i, j);
            put(i, j, transposed(j, i));
            put(j, i, below);
        }
        put(i, i, transposed(i, i));
    }
}
template <typename T, std::size_t kCount>
inline void transpose_all(VecOf<T> (&v)[kCount]) {
    if constexpr (kRegister == kVectorBytes) {
        transpose_natives(v);
    } else {
        transpose_squares<T>(v);
    }
}
inline void transpose(Vec (&v)[kLanes]) { transpose_all<double>(v); }
inline void transpose(VecF (&v)[kWide]) { transpose_all<float>(v); }

}  // namespace
}  // namespace labelboost
