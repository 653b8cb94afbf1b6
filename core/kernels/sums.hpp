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
                              std::size_t labels) {
    constexpr std::size_t kTogether = 4;
    const DiagonalLayout layout(labels);
    double* gradients = sums + layout.gradient();
    double* hessians = sums + layout.hessian();
    std::size_t c = 0;
    for (; c + kTogether * kLanes <= layout.padded; c += kTogether * kLanes) {
        add_diagonal_blocks<kTogether>(gradients, hessians, rows, c, weights, count);
    }
    switch ((layout.padded - c) / kLanes) {
        case 3: return add_diagonal_blocks<3>(gradients, hessians, rows, c, weights, count);
        case 2: return add_diagonal_blocks<2>(gradients, hessians, rows, c, weights, count);
        case 1: return add_diagonal_blocks<1>(gradients, hessians, rows, c, weights, count);
        default: return;
    }
}

void add_diagonal(double* sums, const double* const* rows, const double* weights, std::size_t count,
                  std::size_t labels) {
    add_diagonal_rows(sums, rows, weights, count, labels);
}

void add_rounded_diagonal(double* sums, const float* const* rows, const double* weights, std::size_t count,
                          std::size_t labels) {
    add_diagonal_rows(sums, rows, weights, count, labels);
}

// Adds examples to a tile of the Gram matrix: eight rows, and as many columns as fill a register. Its elements stay in
// registers meanwhile. columns: of each example the gradients of the columns; factors: those of the rows, times its weight.
inline void add_gram_tile(double* target, std::size_t pitch, const double* const* columns, std::size_t column,
                          const double* factors, std::size_t count) {
    Part total[kLanes];
    for (std::size_t r = 0; r < kLanes; ++r) total[r] = load_part(target + r * pitch);
    for (std::size_t m = 0; m < count; ++m) {
        const Part g = load_part(columns[m] + column);
        for (std::size_t r = 0; r < kLanes; ++r) total[r] += factors[kLanes * m + r] * g;
    }
    for (std::size_t r = 0; r < kLanes; ++r) store_part(target + r * pitch) = total[r];
}

inline void add_gram(double* sums, const JointLayout& layout, const double* const* rows, const double* weights,
                     std::size_t count) {
    alignas(64) double factors[kMostTogether * kLanes];
    for (std::size_t block = 0; block < layout.padded / kLanes; ++block) {
        for (std::size_t m = 0; m < count; ++m) {
            store(factors + kLanes * m) = weights[m] * load(rows[m] + kLanes * block);
        }
        double* const target = sums + layout.row(kLanes * block);
        const std::size_t width = layout.block_width(block);
        for (std::size_t c = 0; c < width; c += kPartLanes) {
            add_gram_tile(target + c, width, rows, kLanes * block + c, factors, count);
        }
    }
}

inline void add_joint_vectors(double* sums, const JointLayout& layout, const double* const* rows, const double* weights,
                              std::size_t count) {
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        Vec gradient = load(sums + layout.gradient() + c);
        Vec additive = load(sums + layout.additive() + c);
        for (std::size_t m = 0; m < count; ++m) {
            const Vec g = load(rows[m] + c);
            gradient += weights[m] * g;
            additive += weights[m] * absolute(g);
        }
        store(sums + layout.gradient() + c) = gradient;
        store(sums + layout.additive() + c) = additive;
    }
}

// sums += |g| times weight and slack of each example.
inline void add_slack(double* sums, const double* const* rows, const double* weights, const double* slacks,
                      std::size_t count, std::size_t padded) {
    for (std::size_t c = 0; c < padded; c += kLanes) {
        Vec total = load(sums + c);
        for (std::size_t m = 0; m < count; ++m) total += (weights[m] * slacks[m]) * absolute(load(rows[m] + c));
        store(sums + c) = total;
    }
}

void add_joint(double* sums, const double* const* rows, const double* weights, const double* slacks, std::size_t count,
               std::size_t labels) {
    const JointLayout layout(labels);
    if (slacks != nullptr) add_slack(sums + layout.slack(), rows, weights, slacks, count, layout.padded);
    add_joint_vectors(sums, layout, rows, weights, count);
    add_gram(sums, layout, rows, weights, count);
}

void subtract(double* out, const double* whole, const double* part, std::size_t size) {
    for (std::size_t c = 0; c < size; c += kLanes) store(out + c) = load(whole + c) - load(part + c);
}

}  // namespace
}  // namespace labelboost
