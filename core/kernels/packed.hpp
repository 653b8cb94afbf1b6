// Gradients and Hessians as rows of single precision that need only be added up: what the divisions of a node are screened
// with.
//
// In joint form a row is a linear system without the L2 term, in the order of cholesky.hpp: for each label the upper
// triangle's row of the Hessian, then the negative gradient; K (K + 3) / 2 numbers. Rows of sixteen regions are transposed
// and solved side by side. In diagonal form it is the gradients, then the diagonal of the Hessian, both padded; in flat
// form the weight, then the gradients.
// Cost: K^2 / 32 vector operations to add a row, K^3 / 6 for sixteen systems.
#pragma once

#include "cholesky.hpp"

namespace labelboost {
namespace {

// The row of one example of the example-wise loss, from its gradient.
void pack_joint(const double* gradient, double weight, std::size_t labels, float* out) {
    for (std::size_t i = 0; i < labels; ++i) {
        const double scaled = weight * gradient[i];
        float* const row = out + lane_row(i, labels);
        for (std::size_t j = i; j < labels; ++j) row[j - i] = static_cast<float>(-scaled * gradient[j]);
        const double size = __builtin_fabs(gradient[i]);
        row[0] = static_cast<float>(weight * size * (1.0 - size));
        row[labels - i] = static_cast<float>(-scaled);
    }
}

void add_floats(float* out, const float* a, const float* b, std::size_t size) {
    for (std::size_t c = 0; c < size; c += Lanes<float>::kCount) store(out + c) = load(a + c) + load(b + c);
}

// rows: sixteen of them; system: room for as many numbers; -infinity: not decided.
void score_packed(const float* const* rows, std::size_t labels, float l2, float noise, float* system, float* quality) {
    const std::size_t size = labels * (labels + 3) / 2;
    for (std::size_t c = 0; c < size; c += kWide) {
        VecF block[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) block[lane] = load(rows[lane] + c);
        transpose(block);
        for (std::size_t e = 0; e < kWide; ++e) store(system + kWide * (c + e)) = block[e];
    }
    VecFMask doubt = {};
    for (std::size_t i = 0; i < labels; ++i) store(system + kWide * lane_row(i, labels)) += l2;
    const VecF found = factorise_lanes<float>(system, labels, noise, kLeastKept, &doubt);
    store(quality) = select(doubt, broadcast(-__builtin_inff()), found);
}

// The same in flat form.
void score_packed_flat(const float* const* rows, std::size_t labels, float l2, float noise, float* quality) {
    for (std::size_t lane = 0; lane < kWide; ++lane) {
        const float weight = rows[lane][0];
        VecF first = load(rows[lane]);
        first[0] = 0.0f;
        VecF total = first * first;
        for (std::size_t c = kWide; c < labels + 1; c += kWide) {
            const VecF g = load(rows[lane] + c);
            total += g * g;
        }
        float squares = 0.0f;
        for (std::size_t e = 0; e < kWide; ++e) squares += total[e];
        const float curvature = (weight > 0.0f ? weight : 0.0f) + l2;
        quality[lane] = curvature > noise ? -0.5f * squares / curvature : 0.0f;
    }
}

// The same in diagonal form; padded: of the labels.
void score_packed_diagonal(const float* const* rows, std::size_t labels, std::size_t padded, float l2, float noise,
                           float* quality) {
    VecF total = {};
    for (std::size_t c = 0; c < labels; c += kWide) {
        VecF gradients[kWide], hessians[kWide];
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            gradients[lane] = load(rows[lane] + c);
            hessians[lane] = load(rows[lane] + padded + c);
        }
        transpose(gradients);
        transpose(hessians);
        for (std::size_t e = 0; e < kWide && c + e < labels; ++e) {
            const VecF a = maximum(hessians[e], VecF{}) + l2;
            const VecFMask usable = a > broadcast(noise);
            total += select(usable, gradients[e] * gradients[e] / select(usable, a, broadcast(1.0f)), VecF{});
        }
    }
    store(quality) = -0.5f * total;
}

}  // namespace
}  // namespace labelboost
