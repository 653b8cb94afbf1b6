// Vectors of 64 bytes, whatever the registers of the instruction set: eight doubles or sixteen floats, and masks for them.
//
// With AVX-512 they are vectors in the compiler's own notation. gcc keeps such vectors in memory where they are longer than
// a register, and compares them element by element: six times as slow as with AVX-512, where twice would do. So elsewhere
// they are pairs, of pairs of registers if need be, whose operators the compiler takes apart.
#pragma once

#include "kernels.hpp"

namespace labelboost {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kRegister = 64;
#elif defined(__AVX__)
constexpr std::size_t kRegister = 32;
#else
constexpr std::size_t kRegister = 16;
#endif
constexpr std::size_t kVectorBytes = 64;

// The elements that fill one register, or part of one.
template <typename T, std::size_t kBytes>
struct NativeType {
    typedef T Type __attribute__((vector_size(kBytes), may_alias));
};
template <typename T>
using Native = typename NativeType<T, kRegister>::Type;

#if defined(__AVX512F__)

typedef double Vec __attribute__((vector_size(64), may_alias));
typedef long long VecMask __attribute__((vector_size(64)));
typedef float VecF __attribute__((vector_size(64), may_alias));
typedef int VecFMask __attribute__((vector_size(64)));

template <typename To, typename From>
inline To as(From x) {
    return reinterpret_cast<To>(x);
}
template <typename V, typename T>
inline void set(V& x, std::size_t i, T value) {
    x[i] = value;
}
template <typename T, typename Part>
inline auto build(const Part& part) {
    return part(0);
}
inline Vec native_part(Vec x, std::size_t) { return x; }
inline VecF native_part(VecF x, std::size_t) { return x; }

#else

template <typename T>
struct MaskElement;
template <>
struct MaskElement<double> {
    typedef long long Type;
};
template <>
struct MaskElement<float> {
    typedef int Type;
};
template <>
struct MaskElement<long long> {
    typedef long long Type;
};
template <>
struct MaskElement<int> {
    typedef int Type;
};

template <typename T, std::size_t kBytes>
struct Pair;
template <typename T, std::size_t kBytes>
struct PairOrNative {
    typedef Pair<T, kBytes> Type;
};
template <typename T>
struct PairOrNative<T, kRegister> {
    typedef Native<T> Type;
};

// From one type to another, bit by bit.
template <typename To, typename From>
inline To as(const From& x) {
    if constexpr (sizeof(To) == kRegister) {
        return reinterpret_cast<To>(x);
    } else {
        return {as<typename To::Half>(x.low), as<typename To::Half>(x.high)};
    }
}

#define LABELBOOST_ARITHMETIC(op)                                                                              \
    friend Pair operator op(const Pair& a, const Pair& b) { return {a.low op b.low, a.high op b.high}; }       \
    friend Pair operator op(const Pair& a, T b) { return {a.low op b, a.high op b}; }                          \
    friend Pair operator op(T a, const Pair& b) { return {a op b.low, a op b.high}; }                          \
    friend Pair& operator op##=(Pair& a, const Pair& b) { return a = a op b; }                                 \
    friend Pair& operator op##=(Pair& a, T b) { return a = a op b; }
#define LABELBOOST_COMPARISON(op)                                                                              \
    friend Mask operator op(const Pair& a, const Pair& b) {                                                    \
        return {as<typename Mask::Half>(a.low op b.low), as<typename Mask::Half>(a.high op b.high)};           \
    }                                                                                                          \
    friend Mask operator op(const Pair& a, T b) {                                                              \
        return {as<typename Mask::Half>(a.low op b), as<typename Mask::Half>(a.high op b)};                    \
    }

template <typename T, std::size_t kBytes>
struct __attribute__((may_alias)) Pair {
    typedef typename PairOrNative<T, kBytes / 2>::Type Half;
    typedef Pair<typename MaskElement<T>::Type, kBytes> Mask;
    static constexpr std::size_t kHalf = kBytes / 2 / sizeof(T);

    Half low, high;

    T operator[](std::size_t i) const { return i < kHalf ? low[i] : high[i - kHalf]; }

    LABELBOOST_ARITHMETIC(+)
    LABELBOOST_ARITHMETIC(-)
    LABELBOOST_ARITHMETIC(*)
    LABELBOOST_ARITHMETIC(/)
    LABELBOOST_ARITHMETIC(&)
    LABELBOOST_ARITHMETIC(|)
    LABELBOOST_ARITHMETIC(^)
    LABELBOOST_COMPARISON(<)
    LABELBOOST_COMPARISON(>)
    LABELBOOST_COMPARISON(<=)
    LABELBOOST_COMPARISON(>=)
    LABELBOOST_COMPARISON(==)
    LABELBOOST_COMPARISON(!=)
    friend Pair operator-(const Pair& a) { return {-a.low, -a.high}; }
    friend Pair operator~(const Pair& a) { return {~a.low, ~a.high}; }
    friend Pair operator<<(const Pair& a, int bits) { return {a.low << bits, a.high << bits}; }
    friend Pair operator>>(const Pair& a, int bits) { return {a.low >> bits, a.high >> bits}; }
};

#undef LABELBOOST_ARITHMETIC
#undef LABELBOOST_COMPARISON

typedef Pair<double, kVectorBytes> Vec;
typedef Pair<long long, kVectorBytes> VecMask;
typedef Pair<float, kVectorBytes> VecF;
typedef Pair<int, kVectorBytes> VecFMask;

template <typename V, typename T>
inline void set(V& x, std::size_t i, T value) {
    if constexpr (sizeof(V) == kRegister) {
        x[i] = value;
    } else if (i < V::kHalf) {
        set(x.low, i, value);
    } else {
        set(x.high, i - V::kHalf, value);
    }
}

// A vector from its registers. part(first): the one that starts with that element.
template <typename T, std::size_t kBytes = kVectorBytes, typename Part>
inline typename PairOrNative<T, kBytes>::Type build(const Part& part, std::size_t first = 0) {
    if constexpr (kBytes == kRegister) {
        return part(first);
    } else {
        return {build<T, kBytes / 2>(part, first), build<T, kBytes / 2>(part, first + kBytes / 2 / sizeof(T))};
    }
}

// The register that starts with element number `first`.
template <typename T>
inline const Native<T>& native_part(const Native<T>& x, std::size_t) {
    return x;
}
template <typename T, std::size_t kBytes>
inline const Native<T>& native_part(const Pair<T, kBytes>& x, std::size_t first) {
    constexpr std::size_t kHalf = Pair<T, kBytes>::kHalf;
    if constexpr (kBytes / 2 == kRegister) {
        return first < kHalf ? x.low : x.high;
    } else {
        return first < kHalf ? native_part(x.low, first) : native_part(x.high, first - kHalf);
    }
}

#endif

}  // namespace
}  // namespace labelboost
