// Counter-based random numbers (the output function of SplitMix64): draw i of a stream is a pure function of
// (seed, attempt, purpose, i), so every rule can be learned again without the ones before it, and the NumPy
// reference draws the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace labelboost {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;

// Always inlined, as the kernels of all instruction sets use it.
[[gnu::always_inline]] constexpr std::uint64_t mix(std::uint64_t x) {
    x += kGolden;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

class Stream {
public:
    Stream(std::uint64_t seed, std::uint64_t attempt, std::uint64_t purpose)
        : key_(mix(mix(mix(seed) + attempt) + purpose)) {}

    std::uint64_t key() const { return key_; }
    // A number in [0, n).
    std::size_t below(std::uint64_t i, std::size_t n) const {
        const double unit = static_cast<double>(mix(key_ + i * kGolden) >> 11) * 0x1p-53;
        return std::min(static_cast<std::size_t>(unit * static_cast<double>(n)), n - 1);
    }

private:
    std::uint64_t key_;
};

}  // namespace labelboost
