// Qualities of candidates: how far the best head of a region lowers the objective (eq. 4 with the L2 term).
//
// Flat form: K squares. Diagonal form: K divisions. Joint form: a Cholesky factorisation of diag(additive) - Gram + l2 I,
// K^3 / 6 multiply-adds; no back substitution is needed, as the quality is -|L^-1 g|^2 / 2. Small systems are solved eight
// at a time, one candidate per vector lane, so that no lane ever waits for another.
#pragma once

#include "cholesky.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

double score_diagonal(const double* whole, const double* part, std::size_t labels, double l2, double noise,
                      bool single) {
    const DiagonalLayout layout(labels);
    Vec total = {};
    Vec best = {};
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        Vec g = load(whole + layout.gradient() + c);
        Vec h = load(whole + layout.hessian() + c);
        if (part != nullptr) {
            g -= load(part + layout.gradient() + c);
            h -= load(part + layout.hessian() + c);
        }
        const Vec a = maximum(h, Vec{}) + l2;
        const VecMask usable = a > broadcast(noise);
        const Vec gain = select(usable, g * g / select(usable, a, broadcast(1.0)), Vec{});
        total += gain;
        best = maximum(best, gain);
    }
    if (!single) return -0.5 * sum(total);
    double largest = 0.0;
    for (std::size_t i = 0; i < kLanes; ++i) largest = best[i] > largest ? best[i] : largest;
    return -0.5 * largest;
}

double score_flat(const double* whole, const double* part, std::size_t labels, double l2, double noise) {
    const FlatLayout layout(labels);
    Vec total = {};
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        Vec g = load(whole + layout.gradient() + c);
        if (part != nullptr) g -= load(part + layout.gradient() + c);
        total += g * g;
    }
    const double weight = whole[layout.weight()] - (part != nullptr ? part[layout.weight()] : 0.0);
    const double curvature = (weight > 0.0 ? weight : 0.0) + l2;
    return curvature > noise ? -0.5 * sum(total) / curvature : 0.0;
}

void score_joint_lanes(const double* sums, std::size_t stride, std::size_t labels, double l2, double noise,
                       double* scratch, double* quality) {
    const JointLayout layout(labels);
    for (std::size_t block = 0; block < layout.padded; block += kLanes) {
        Vec gradient[kLanes], additive[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            gradient[lane] = load(sums + lane * stride + layout.gradient() + block);
            additive[lane] = load(sums + lane * stride + layout.additive() + block);
        }
        transpose(gradient);
        transpose(additive);
        for (std::size_t r = 0; r < kLanes && block + r < labels; ++r) {
            const std::size_t i = block + r;
            double* target = scratch + kLanes * lane_row(i, labels);
            const double* source = sums + layout.row(i);
            for (std::size_t c = block; c < layout.padded; c += kLanes) {
                Vec gram[kLanes];
                for (std::size_t lane = 0; lane < kLanes; ++lane) gram[lane] = load(source + lane * stride + (c - block));
                transpose(gram);
                for (std::size_t j = c > i ? c : i; j < c + kLanes && j < labels; ++j) {
                    store(target + kLanes * (j - i)) = -gram[j - c];
                }
            }
            store(target) += additive[r] + l2;
            store(target + kLanes * (labels - i)) = -gradient[r];
        }
    }
    score_lanes(scratch, labels, noise, quality);
}

}  // namespace
}  // namespace labelboost
