// Memory for vectors: those that start at a cache line, as the kernels require, and share none with anything else, and
// those that are about to be filled.
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
        const std::size_t whole_lines = (n * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
        char* const start = static_cast<char*>(::operator new(whole_lines + kAlignment));
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

// New elements of plain types are left as they are, for whoever stores all of them anyway.
template <typename T>
struct Unfilled : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Unfilled<U>;
    };
    void construct(T* place) noexcept { ::new (static_cast<void*>(place)) T; }
    template <typename... Arguments>
    void construct(T* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) T{std::forward<Arguments>(arguments)...};
    }
};

template <typename T>
using AlignedVectorOf = std::vector<T, CacheAligned<T>>;
using AlignedVector = AlignedVectorOf<double>;

}  // namespace labelboost
