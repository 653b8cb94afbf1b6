// Vectors that start at a cache line, as the kernels require.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace labelboost {

template <typename T>
struct CacheAligned {
    using value_type = T;
    static constexpr std::align_val_t kAlignment{64};

    CacheAligned() = default;
    template <typename U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kAlignment); }
    friend bool operator==(const CacheAligned&, const CacheAligned&) { return true; }
};

template <typename T>
using AlignedVectorOf = std::vector<T, CacheAligned<T>>;
using AlignedVector = AlignedVectorOf<double>;

}  // namespace labelboost
