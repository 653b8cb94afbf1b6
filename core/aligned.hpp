// Memory for vectors: those that start at a cache line, as the kernels require, and share none with anything else, and
// those that are about to be filled. Long ones of either kind ask for large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace labelboost {

// What different threads write to lies so far apart: a line that one of them changes is not at hand for the others, and
// processors fetch lines in pairs.
constexpr std::size_t kApart = 128;

// The system hands out memory page by page, each one cleared when it is first written to. Of ordinary pages so many are
// needed for a million examples that this took a third of the time before the first rule: long arrays ask for large ones.
constexpr std::size_t kLargePage = std::size_t{1} << 21;
void* allocate_large(std::size_t bytes);
void free_large(void* start);
inline void* allocate_bytes(std::size_t bytes) {
    return bytes < kLargePage ? ::operator new(bytes) : allocate_large(bytes);
}
inline void free_bytes(void* start, std::size_t bytes) {
    if (bytes < kLargePage) {
        ::operator delete(start);
    } else {
        free_large(start);
    }
}

// Filled: new elements are zero, unless they are given a value. Otherwise they are left as they are.
template <typename T, bool kFilled = true>
struct CacheAligned {
    using value_type = T;
    template <typename U>
    struct rebind {
        using other = CacheAligned<U, kFilled>;
    };
    static constexpr std::size_t kAlignment = 64;

    CacheAligned() = default;
    template <typename U>
    CacheAligned(const CacheAligned<U, kFilled>&) {}
    // Aligned by hand, in front of the vector the address to free: the aligned allocation of the C library takes several
    // times as long as the plain one, and short vectors are made for every rule.
    T* allocate(std::size_t n) {
        char* const start = static_cast<char*>(allocate_bytes(bytes_for(n)));
        char* const aligned = start + (kAlignment - reinterpret_cast<std::uintptr_t>(start) % kAlignment);
        std::memcpy(aligned - sizeof(start), &start, sizeof(start));
        return reinterpret_cast<T*>(aligned);
    }
    void deallocate(T* p, std::size_t n) {
        char* start;
        std::memcpy(&start, reinterpret_cast<char*>(p) - sizeof(start), sizeof(start));
        free_bytes(start, bytes_for(n));
    }
    template <typename... Arguments>
    void construct(T* place, Arguments&&... arguments) {
        if constexpr (kFilled || sizeof...(Arguments) > 0) {
            ::new (static_cast<void*>(place)) T(std::forward<Arguments>(arguments)...);
        } else {
            ::new (static_cast<void*>(place)) T;
        }
    }
    static std::size_t bytes_for(std::size_t n) { return ((n * sizeof(T) + kAlignment - 1) / kAlignment + 1) * kAlignment; }
    friend bool operator==(const CacheAligned&, const CacheAligned&) { return true; }
};

// New elements of plain types are left as they are, for whoever stores all of them anyway.
template <typename T>
struct Unfilled : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Unfilled<U>;
    };
    T* allocate(std::size_t n) { return static_cast<T*>(allocate_bytes(n * sizeof(T))); }
    void deallocate(T* place, std::size_t n) { free_bytes(place, n * sizeof(T)); }
    void construct(T* place) noexcept { ::new (static_cast<void*>(place)) T; }
    template <typename... Arguments>
    void construct(T* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) T{std::forward<Arguments>(arguments)...};
    }
};

template <typename T>
using UnfilledVectorOf = std::vector<T, Unfilled<T>>;
template <typename T>
using AlignedVectorOf = std::vector<T, CacheAligned<T>>;
using AlignedVector = AlignedVectorOf<double>;
// For intermediate results: to clear it would take the system a page for every four kilobytes, whether they are needed or not.
template <typename T>
using AlignedRoomOf = std::vector<T, CacheAligned<T, false>>;

}  // namespace labelboost
