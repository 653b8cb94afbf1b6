// Sorting numbers by single digits, the last one first, each pass keeping the order of the one before: a few passes along
// the items instead of log2(n). Digits of all passes are counted in one, and those that all keys have in common are left out,
// as are most of those of rounded numbers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "aligned.hpp"

namespace labelboost {

template <typename T>
using SortKey = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Keys are in the order of the numbers: for negative ones all bits are turned, for others the first one.
template <typename T>
SortKey<T> sort_key(T value) {
    constexpr SortKey<T> kFirst = SortKey<T>{1} << (8 * sizeof(T) - 1);
    const auto bits = std::bit_cast<SortKey<T>>(value + T(0));  // -0.0 is the same number as 0.0
    return (bits & kFirst) != 0 ? ~bits : bits ^ kFirst;
}
template <typename T>
T number_of(SortKey<T> key) {
    constexpr SortKey<T> kFirst = SortKey<T>{1} << (8 * sizeof(T) - 1);
    return std::bit_cast<T>((key & kFirst) != 0 ? key ^ kFirst : ~key);
}

template <int kBits, typename Item, typename KeyOf>
void sort_by_digits(UnfilledVectorOf<Item>& items, UnfilledVectorOf<Item>& other, const KeyOf& key_of) {
    constexpr std::size_t kDigits = std::size_t{1} << kBits;
    constexpr int kKeyBits = 8 * sizeof(key_of(items.front()));
    constexpr std::size_t kPasses = (kKeyBits + kBits - 1) / kBits;
    const auto digit = [&](const Item& item, std::size_t pass) {
        return static_cast<std::size_t>(key_of(item) >> (static_cast<int>(pass) * kBits)) % kDigits;
    };
    std::array<std::array<std::uint32_t, kDigits>, kPasses> counts{};
    for (const Item& item : items) {
        for (std::size_t pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(item, pass)];
    }
    other.resize(items.size());
    for (std::size_t pass = 0; pass < kPasses; ++pass) {
        if (counts[pass][digit(items.front(), pass)] == items.size()) continue;
        std::uint32_t place = 0;
        for (std::uint32_t& count : counts[pass]) place += std::exchange(count, place);
        for (const Item& item : items) other[counts[pass][digit(item, pass)]++] = item;
        items.swap(other);
    }
}

// Keeps the order of items with equal keys. other: memory that is kept from one time to the next.
template <typename Item, typename KeyOf>
void sort_by_key(UnfilledVectorOf<Item>& items, UnfilledVectorOf<Item>& other, const KeyOf& key_of) {
    // Up to so many, comparisons are cheaper, or shorter digits are, of which there are fewer to be counted.
    constexpr std::size_t kFew = 64, kNotMany = 4096;
    const auto before = [&](const Item& a, const Item& b) { return key_of(a) < key_of(b); };
    if (std::is_sorted(items.begin(), items.end(), before)) return;  // like features with one value besides zero
    if (items.size() <= kFew) {
        std::stable_sort(items.begin(), items.end(), before);
    } else if (items.size() <= kNotMany) {
        sort_by_digits<8>(items, other, key_of);
    } else {
        sort_by_digits<11>(items, other, key_of);
    }
}

}  // namespace labelboost
