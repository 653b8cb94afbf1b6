// Vectors that start at a cache line, as the kernels require.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

namespace labelboost {

template <typename T>
struct CacheAligned {
    using value_type = T;
    static constexpr std::size_t kAlignment = 64;

    CacheAligned() = default;
    template <typename U>
    CacheAligned(const CacheAligned<U>&) {}
    // Aligned by hand, in front of the vector the address to free: the aligned allocation of the C library takes several
    // times as long as the plain one, and short vectors are made for every rule.
    T* allocate(std::size_t n) {
        char* const start = static_cast<char*>(::operator new(n * sizeof(T) + kAlignment));
        char* const aligned = start + (kAlignment - reinterpret_cast<std::uintptr_t>(start) % kAlignment);
        std::memcpy(aligned - sizeof(start), &start, sizeof(start));
        return reinterpret_cast<T*>(aligned);
    }
    void deallocate(T* p, std::size_t) {
        char* start;
        std::memcpy(&start, reinterpret_cast<char*>(p) - sizeof(start), sizeof(start));
        ::operator delete(start);
    }
    friend bool operator==(const CacheAligned&, const CacheAligned&) { return true; }
};

template <typename T>
using AlignedVectorOf = std::vector<T, CacheAligned<T>>;
using AlignedVector = AlignedVectorOf<double>;

}  // namespace labelboost
