// What decides the time of prediction: adding up heads, and the costs of the known label vectors.
#pragma once

#include "losses.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

// Adds kBlocks x kLanes labels of the covering rules' heads to the scores of each example: one load and one addition
// per register and covering rule.
template <std::size_t kBlocks>
inline void add_head_blocks(double* scores, const double* heads, std::size_t padded, const std::uint64_t* covering,
                            std::size_t examples) {
    constexpr std::size_t kCount = kBlocks * kParts;
    for (std::size_t n = 0; n < examples; ++n) {
        if (covering[n] == 0) continue;
        double* target = scores + n * padded;
        Part total[kCount];
        for (std::size_t i = 0; i < kCount; ++i) total[i] = load_part(target + kPartLanes * i);
        for (std::uint64_t rules = covering[n]; rules != 0; rules &= rules - 1) {
            const double* head = heads + static_cast<std::size_t>(__builtin_ctzll(rules)) * padded;
            for (std::size_t i = 0; i < kCount; ++i) total[i] += load_part(head + kPartLanes * i);
        }
        for (std::size_t i = 0; i < kCount; ++i) store_part(target + kPartLanes * i) = total[i];
    }
}

// Labels are taken 32 at a time (16 in small registers), so that the sums fit into registers, and this part of 64
// heads and of 64 examples' scores into the L1 cache.
void add_heads(double* scores, const double* heads, std::size_t padded, const std::uint64_t* covering,
               std::size_t examples) {
    constexpr std::size_t kMost = kRegister < 32 ? 2 : 4;
    std::size_t c = 0;
    for (; c + kMost * kLanes <= padded; c += kMost * kLanes) {
        add_head_blocks<kMost>(scores + c, heads + c, padded, covering, examples);
    }
    switch ((padded - c) / kLanes) {
        case 3: return add_head_blocks<3>(scores + c, heads + c, padded, covering, examples);
        case 2: return add_head_blocks<2>(scores + c, heads + c, padded, covering, examples);
        case 1: return add_head_blocks<1>(scores + c, heads + c, padded, covering, examples);
        default: return;
    }
}

// Replaces the scores of kLanes examples (labels x kLanes) by what each label adds to the cost of a label vector
// that contains it, and returns the cost of the empty vector. Of the label-wise loss log(1 + exp(p)) the bound
// max(p, 0) + log(2) is used there: all vectors' costs rise alike, and nothing is left to compute for a label but -p.
inline Vec label_costs(Loss loss, double* scores, std::size_t labels) {
    Vec empty = {};
    for (std::size_t k = 0; k < labels; ++k) {
        const Vec p = load(scores + kLanes * k);
        if (loss == Loss::example_logistic) {
            const Vec absent = exponential(p);
            empty += absent;
            store(scores + kLanes * k) = exponential(-p) - absent;
        } else {
            empty += maximum(p, Vec{}) + 0x1.62e42fefa39efp-1;
            store(scores + kLanes * k) = -p;
        }
    }
    return empty;
}

// Two exponentials per label, then one addition per label of each known vector, for kLanes examples at a time.
void screen_known(Loss loss, double* scores, std::size_t labels, const std::size_t* offsets,
                  const std::uint32_t* members, std::size_t known, double* costs, double* smallest, double* empty) {
    store(empty) = label_costs(loss, scores, labels);
    for (std::size_t begin = 0; begin < known; begin += kScreenGroup, smallest += kLanes) {
        const std::size_t end = begin + kScreenGroup < known ? begin + kScreenGroup : known;
        Part least[kParts];
        for (std::size_t part = 0; part < kParts; ++part) least[part] = Part{} + __builtin_inf();
        for (std::size_t v = begin; v < end; ++v) {
            Part cost[kParts];
            for (std::size_t part = 0; part < kParts; ++part) cost[part] = load_part(empty + kPartLanes * part);
            for (std::size_t i = offsets[v]; i < offsets[v + 1]; ++i) {
                const double* added = scores + kLanes * members[i];
                for (std::size_t part = 0; part < kParts; ++part) cost[part] += load_part(added + kPartLanes * part);
            }
            for (std::size_t part = 0; part < kParts; ++part) {
                store_part(costs + kLanes * v + kPartLanes * part) = cost[part];
                least[part] = cost[part] < least[part] ? cost[part] : least[part];
            }
        }
        for (std::size_t part = 0; part < kParts; ++part) store_part(smallest + kPartLanes * part) = least[part];
    }
}

}  // namespace
}  // namespace labelboost
