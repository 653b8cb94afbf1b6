// The entries of a row that are not zero. Most entries of text are, in no order that a processor could foresee: so bits are
// made of many at a time, and branches are taken for the others only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace labelboost {

#if defined(__SSE2__)
// One bit per number in a register.
inline std::uint32_t nonzero_bits_of_register(const float* values) {
    typedef float Register __attribute__((vector_size(16), aligned(4), may_alias));
    typedef float Aligned __attribute__((vector_size(16)));
    const auto differs = *reinterpret_cast<const Register*>(values) != 0.0f;
    return static_cast<std::uint32_t>(__builtin_ia32_movmskps(reinterpret_cast<Aligned>(differs)));
}
inline std::uint32_t nonzero_bits_of_register(const double* values) {
    typedef double Register __attribute__((vector_size(16), aligned(8), may_alias));
    typedef double Aligned __attribute__((vector_size(16)));
    const auto differs = *reinterpret_cast<const Register*>(values) != 0.0;
    return static_cast<std::uint32_t>(__builtin_ia32_movmskpd(reinterpret_cast<Aligned>(differs)));
}
#endif

// Which of up to 32 numbers are not zero, of either sign.
template <typename T>
std::uint32_t nonzero_bits(const T* values, std::size_t count) {
    std::uint32_t bits = 0;
    std::size_t i = 0;
#if defined(__SSE2__)
    constexpr std::size_t kRegister = 16 / sizeof(T);
    for (; i + kRegister <= count; i += kRegister) bits |= nonzero_bits_of_register(values + i) << i;
#endif
    for (; i < count; ++i) bits |= static_cast<std::uint32_t>(values[i] != T(0)) << i;
    return bits;
}

// Calls visit(j) for each entry j that is not zero, in ascending order.
template <typename T, typename Visit>
void for_each_nonzero(const T* values, std::size_t count, const Visit& visit) {
    constexpr std::size_t kTogether = 32;
    for (std::size_t begin = 0; begin < count; begin += kTogether) {
        std::uint32_t bits = nonzero_bits(values + begin, std::min(kTogether, count - begin));
        for (; bits != 0; bits &= bits - 1) visit(begin + static_cast<std::size_t>(std::countr_zero(bits)));
    }
}

}  // namespace labelboost
