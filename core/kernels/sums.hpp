// Sums of gradients and Hessians over examples.
//
// Cost per example: 2 K (diagonal form) or K^2 / 2 + 2 K (joint form) multiply-adds, all on aligned vectors.
// In joint form examples come in batches, and elements of the sums stay in registers while a batch is added.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// Several blocks of labels side by side, as additions to one sum would wait for each other.
template <std::size_t kBlocks, typename T>
inline void add_diagonal_blocks(double* gradients, double* hessians, const T* const* rows, std::size_t first,
                                const double* weights, std::size_t count) {
    Vec gradient[kBlocks], hessian[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
        gradient[b] = load(gradients + first + kLanes * b);
        hessian[b] = load(hessians + first + kLanes * b);
    }
    for (std::size_t m = 0; m < count; ++m) {
        for (std::size_t b = 0; b < kBlocks; ++b) {
            const Vec g = load_doubles(rows[m] + first + kLanes * b);
            const Vec size = absolute(g);
            gradient[b] += weights[m] * g;
            hessian[b] += weights[m] * (size - size * size);  // |g| (1 - |g|), for both losses
        }
    }
    for (std::size_t b = 0; b < kBlocks; ++b) {
        store(gradients + first + kLanes * b) = gradient[b];
        store(hessians + first + kLanes * b) = hessian[b];
    }
}

void add_row(double* sums, const double* row, double weight, std::size_t size) {
    for (std::size_t c = 0; c < size; c += kLanes) store(sums + c) += weight * load(row + c);
}

template <typename T>
inline void add_diagonal_rows(double* sums, const T* const* rows, const double* weights, std::size_t count,
                              std::size_t labels, LabelBlocks own) {
    constexpr std::size_t kTogether = 4;
    const DiagonalLayout layout(labels);
    double* gradients = sums + layout.gradient();
    double* hessians = sums + layout.hessian();
    std::size_t c = kLanes * own.begin;
    const std::size_t end = kLanes * own.end;
    for (; c + kTogether * kLanes <= end; c += kTogether * kLanes) {
        add_diagonal_blocks<kTogether>(gradients, hessians, rows, c, weights, count);
    }
    switch ((end - c) / kLanes) {
        case 3: return add_diagonal_blocks<3>(gradients, hessians, rows, c, weights, count);
        case 2: return add_diagonal_blocks<2>(gradients, hessians, rows, c, weights, count);
        case 1: return add_diagonal_blocks<1>(gradients, hessians, rows, c, weights, count);
        default: return;
    }
}

void add_diagonal(double* sums, const double* const* rows, const double* weights, std::size_t count,
                  std::size_t labels, LabelBlocks own) {
    add_diagonal_rows(sums, rows, weights, count, labels, own);
}

void add_rounded_diagonal(double* sums, const float* const* rows, const double* weights, std::size_t count,
                          std::size_t labels, LabelBlocks own) {
    add_diagonal_rows(sums, rows, weights, count, labels, own);
}

// Tiles of the Gram matrix are eight rows high and so many registers wide: so many that their elements stay in
// registers while examples are added, and that what is loaded for an example is used as often as can be.
constexpr std::size_t kTileColumns = kRegister == 64 ? 3 : 1;

// columns: of each example the gradients of the columns; factors: those of the rows, times its weight.
template <std::size_t kColumns>
inline void add_gram_tile(double* target, std::size_t pitch, const double* const* columns, std::size_t column,
                          const double* factors, std::size_t count) {
    Part total[kLanes][kColumns];
    for (std::size_t r = 0; r < kLanes; ++r) {
        for (std::size_t c = 0; c < kColumns; ++c) total[r][c] = load_part(target + r * pitch + kPartLanes * c);
    }
    for (std::size_t m = 0; m < count; ++m) {
        Part g[kColumns];
        for (std::size_t c = 0; c < kColumns; ++c) g[c] = load_part(columns[m] + column + kPartLanes * c);
        for (std::size_t r = 0; r < kLanes; ++r) {
            const double factor = factors[kLanes * m + r];
            for (std::size_t c = 0; c < kColumns; ++c) total[r][c] += factor * g[c];
        }
    }
    for (std::size_t r = 0; r < kLanes; ++r) {
        for (std::size_t c = 0; c < kColumns; ++c) store_part(target + r * pitch + kPartLanes * c) = total[r][c];
    }
}

// The last two blocks together: of the last one alone, too few sums would be under way at a time. kRows: of the last one, as
// far as it has labels.
template <std::size_t kRows>
inline void add_last_gram_tiles(double* before, double* last, const double* const* columns, std::size_t column,
                                const double* factors, const double* last_factors, std::size_t count) {
    Vec first[kLanes], second[kLanes], third[kRows];
    for (std::size_t r = 0; r < kLanes; ++r) {
        first[r] = load(before + 2 * kLanes * r);
        second[r] = load(before + 2 * kLanes * r + kLanes);
    }
    for (std::size_t r = 0; r < kRows; ++r) third[r] = load(last + kLanes * r);
    for (std::size_t m = 0; m < count; ++m) {
        const Vec g = load(columns[m] + column), last_g = load(columns[m] + column + kLanes);
        for (std::size_t r = 0; r < kLanes; ++r) {
            const double factor = factors[kLanes * m + r];
            first[r] += factor * g;
            second[r] += factor * last_g;
        }
        for (std::size_t r = 0; r < kRows; ++r) third[r] += last_factors[kLanes * m + r] * last_g;
    }
    for (std::size_t r = 0; r < kLanes; ++r) {
        store(before + 2 * kLanes * r) = first[r];
        store(before + 2 * kLanes * r + kLanes) = second[r];
    }
    for (std::size_t r = 0; r < kRows; ++r) store(last + kLanes * r) = third[r];
}

inline void add_gram(double* sums, const JointLayout& layout, LabelBlocks own, const double* const* rows,
                     const double* weights, std::size_t count, const double* const* ahead) {
    alignas(64) double factors[kMostTogether * kLanes], last_factors[kMostTogether * kLanes];
    const std::size_t blocks = layout.padded / kLanes;
    const auto find_factors = [&](std::size_t block, double* out) {
        for (std::size_t m = 0; m < count; ++m) {
            store(out + kLanes * m) = weights[m] * load(rows[m] + kLanes * block);
            // A block is a cache line: asked for like that, lines arrive while there is something else to do.
            if (ahead != nullptr) __builtin_prefetch(ahead[m] + kLanes * block, 0, 2);
        }
    };
    // Columns behind those of the own rows.
    for (std::size_t m = 0; ahead != nullptr && own.end < blocks && m < count; ++m) {
        for (std::size_t block = own.end; block < blocks; ++block) __builtin_prefetch(ahead[m] + kLanes * block, 0, 2);
    }
    const bool pairs = kRegister == 64 && blocks > 1;
    for (std::size_t block = own.begin; block < own.end; ++block) {
        find_factors(block, factors);
        double* const target = sums + layout.row(kLanes * block);
        const std::size_t width = layout.block_width(block);
        if (pairs && block + 2 == blocks) {
            find_factors(block + 1, last_factors);
            double* const last = sums + layout.row(kLanes * (block + 1));
            if (layout.labels - kLanes * (block + 1) <= kLanes / 2) {
                add_last_gram_tiles<kLanes / 2>(target, last, rows, kLanes * block, factors, last_factors, count);
            } else {
                add_last_gram_tiles<kLanes>(target, last, rows, kLanes * block, factors, last_factors, count);
            }
            return;
        }
        std::size_t c = 0;
        for (; c + kTileColumns * kPartLanes <= width; c += kTileColumns * kPartLanes) {
            add_gram_tile<kTileColumns>(target + c, width, rows, kLanes * block + c, factors, count);
        }
        if (width - c == 2 * kPartLanes) {
            add_gram_tile<2>(target + c, width, rows, kLanes * block + c, factors, count);
        } else if (c < width) {
            add_gram_tile<1>(target + c, width, rows, kLanes * block + c, factors, count);
        }
    }
}

// Gradients, their sizes and (unless null) these times the slack of their example, for some blocks of labels side by
// side.
template <std::size_t kBlocks>
inline void add_joint_blocks(double* sums, const JointLayout& layout, std::size_t first, const double* const* rows,
                             const double* weights, const double* slacks, std::size_t count) {
    Vec gradient[kBlocks], additive[kBlocks], slack[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
        gradient[b] = load(sums + layout.gradient() + first + kLanes * b);
        additive[b] = load(sums + layout.additive() + first + kLanes * b);
        slack[b] = slacks != nullptr ? load(sums + layout.slack() + first + kLanes * b) : Vec{};
    }
    for (std::size_t m = 0; m < count; ++m) {
        const double slack_weight = slacks != nullptr ? weights[m] * slacks[m] : 0.0;
        for (std::size_t b = 0; b < kBlocks; ++b) {
            const Vec g = load(rows[m] + first + kLanes * b);
            gradient[b] += weights[m] * g;
            additive[b] += weights[m] * absolute(g);
            slack[b] += slack_weight * absolute(g);
        }
    }
    for (std::size_t b = 0; b < kBlocks; ++b) {
        store(sums + layout.gradient() + first + kLanes * b) = gradient[b];
        store(sums + layout.additive() + first + kLanes * b) = additive[b];
        if (slacks != nullptr) store(sums + layout.slack() + first + kLanes * b) = slack[b];
    }
}

inline void add_joint_vectors(double* sums, const JointLayout& layout, LabelBlocks own, const double* const* rows,
                              const double* weights, const double* slacks, std::size_t count) {
    constexpr std::size_t kTogether = 3;
    std::size_t block = own.begin;
    for (; block + kTogether <= own.end; block += kTogether) {
        add_joint_blocks<kTogether>(sums, layout, kLanes * block, rows, weights, slacks, count);
    }
    for (; block < own.end; ++block) add_joint_blocks<1>(sums, layout, kLanes * block, rows, weights, slacks, count);
}

void add_joint(double* sums, const double* const* rows, const double* weights, const double* slacks, std::size_t count,
               std::size_t labels, LabelBlocks own, const double* const* ahead) {
    const JointLayout layout(labels);
    add_joint_vectors(sums, layout, own, rows, weights, slacks, count);
    add_gram(sums, layout, own, rows, weights, count, ahead);
}

void subtract(double* out, const double* whole, const double* part, std::size_t size) {
    for (std::size_t c = 0; c < size; c += kLanes) store(out + c) = load(whole + c) - load(part + c);
}

}  // namespace
}  // namespace labelboost
