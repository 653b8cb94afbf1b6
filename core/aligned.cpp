#include "aligned.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace labelboost {

void* allocate_large(std::size_t bytes) {
    // What does not fill its last page gets ordinary ones there, unless little is wasted.
    const std::size_t up = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    if (up - bytes <= bytes / 8) bytes = up;
    void* const start = ::operator new(bytes, std::align_val_t{kLargePage});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(start, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);  // a wish, which may not be granted
#endif
    return start;
}

void free_large(void* start) { ::operator delete(start, std::align_val_t{kLargePage}); }

}  // namespace labelboost
