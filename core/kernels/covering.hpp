// What a condition keeps of the examples that a rule covers.
//
// Cost per example: one look at its rank, and about ten operations; with AVX-512 sixteen examples are looked at together, and
// those that are kept, or dropped, moved side by side. No branches, as nobody could foresee them.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// dropped: null, or where those go that are not kept. Either array may be the one that the examples are in.
std::size_t keep_ranks(const std::int32_t* examples, std::size_t count, const std::int32_t* rank_of, RankRange range,
                       std::int32_t* kept, std::int32_t* dropped) {
    std::size_t k = 0, d = 0, i = 0;
#if defined(__AVX512F__)
    typedef int Sixteen __attribute__((vector_size(64), aligned(4), may_alias));
    typedef unsigned Unsigned __attribute__((vector_size(64)));
    for (; i + kWide <= count; i += kWide) {
        const VecFMask some = *reinterpret_cast<const Sixteen*>(examples + i);
        const VecFMask rank = __builtin_ia32_gathersiv16si(VecFMask{}, rank_of, some, static_cast<unsigned short>(-1), 4);
        const VecFMask within = reinterpret_cast<Unsigned>(rank - range.first) < static_cast<unsigned>(range.count);
        const auto drops =
            static_cast<unsigned short>(negative_bits(rank | (range.others ? within : ~within)));
        const auto keeps = static_cast<unsigned short>(~drops);
        *reinterpret_cast<Sixteen*>(kept + k) = __builtin_ia32_compresssi512_mask(some, VecFMask{}, keeps);
        k += static_cast<std::size_t>(__builtin_popcount(keeps));
        if (dropped == nullptr) continue;
        *reinterpret_cast<Sixteen*>(dropped + d) = __builtin_ia32_compresssi512_mask(some, VecFMask{}, drops);
        d += static_cast<std::size_t>(__builtin_popcount(drops));
    }
#endif
    // Always stored, kept only if it is to be.
    for (; i < count; ++i) {
        const std::int32_t example = examples[i];
        const std::size_t drops = range.drops(rank_of[example]) ? 1 : 0;
        if (dropped != nullptr) dropped[d] = example;
        kept[k] = example;
        d += drops;
        k += 1 - drops;
    }
    return k;
}

}  // namespace
}  // namespace labelboost
