// Counter-based random numbers (the output function of SplitMix64): draw i of a stream is a pure function of
// (seed, attempt, purpose, i), so every rule can be learned again without the ones before it, and the NumPy
// reference draws the same numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>

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

// What numpy.random.RandomState(seed).randint(0, 2**63 - 1, dtype=int64) returns: to make that object takes NumPy longer than
// to learn a rule, as it fills its state twice, at first with what the system holds for random.
inline std::uint64_t first_draw_of_numpy(std::uint32_t seed) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    std::mt19937 generator(seed);
    while (true) {
        const std::uint64_t high = generator(), low = generator();
        const std::uint64_t drawn = (high << 32 | low) & kMost;
        if (drawn < kMost) return drawn;
    }
}

}  // namespace labelboost
