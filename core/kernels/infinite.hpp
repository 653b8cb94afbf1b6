// Whether any of many numbers is infinite.
//
// A plain loop without branches, which the compiler turns into vector instructions: a mask as wide as the numbers, and one
// answer for all of them. Cost: as long as it takes to load them.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

template <typename T, typename Mask>
inline bool any_infinite_of(const T* values, std::size_t count) {
    Mask found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const T size = values[i] < T(0) ? -values[i] : values[i];
        found |= size == static_cast<T>(__builtin_inf()) ? ~Mask{0} : Mask{0};
    }
    return found != 0;
}

bool any_infinite_float(const float* values, std::size_t count) {
    return any_infinite_of<float, std::uint32_t>(values, count);
}

bool any_infinite_double(const double* values, std::size_t count) {
    return any_infinite_of<double, std::uint64_t>(values, count);
}

}  // namespace
}  // namespace labelboost
