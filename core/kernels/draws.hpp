// Random draws, many at a time: the same numbers as Stream::below gives one by one.
//
// A plain loop without branches, which the compiler turns into vector instructions where there are any for
// 64-bit products. Cost: about 10 operations per draw.
#pragma once

#include "../random.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

void draw(std::uint64_t key, std::size_t begin, std::size_t count, std::uint32_t n, std::uint32_t* out) {
    for (std::size_t i = 0; i < count; ++i) {
        const double unit = static_cast<double>(mix(key + (begin + i) * kGolden) >> 11) * 0x1p-53;
        const auto drawn = static_cast<std::uint32_t>(static_cast<std::int32_t>(unit * n));
        out[i] = drawn < n ? drawn : n - 1;
    }
}

}  // namespace
}  // namespace labelboost
