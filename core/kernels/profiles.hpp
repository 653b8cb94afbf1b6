// Profiles of regions: bounds on the quality of a candidate in joint form, from O(K) sums instead of O(K^2).
//
// With q0 = 1 - sum_k |g_k| (the slack of an example) the Hessian of an example, diag(|g|) - g g^T, lies between
// diag(q0 |g|) and diag(|g|): the first by the inequality of Cauchy and Schwarz. So with d = sum |g| and
// e = sum q0 |g| over a region, A = H + l2 I lies between diag(e + l2) and diag(d + l2), and for any head x with
// residual r = -g - A x the best gain of the region is
//     f(x) + r^T A^-1 r / 2  with  f(x) = -(g.x + x^T A x / 2),
// which lies between f(x) and f(x) + sum r^2 / (e + l2) / 2. For x = 0 that is sum g^2 / (e + l2) / 2, which also holds
// with label bins, however the labels are grouped and aggregated. H x of a *given* head x is a sum of one vector
// per example, |g| x - (g.x) g, like everything else here.
// Cost per example: 8 K multiply-adds.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

inline double dot(const double* a, const double* b, std::size_t padded) {
    Vec total = {};
    for (std::size_t c = 0; c < padded; c += kLanes) total += load(a + c) * load(b + c);
    return sum(total);
}

template <std::size_t kCount>
inline void add_profile_group(double* sums, const ProfileLayout& layout, const double* const* rows,
                              const double* weights, const double* slacks, const double* head) {
    double along[kCount] = {};
    if (head != nullptr) {
        for (std::size_t m = 0; m < kCount; ++m) along[m] = dot(rows[m], head, layout.padded);
    }
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        const Vec x = head != nullptr ? load(head + c) : Vec{};
        Vec gradient = load(sums + layout.gradient() + c);
        Vec additive = load(sums + layout.additive() + c);
        Vec slack = load(sums + layout.slack() + c);
        Vec product = load(sums + layout.product() + c);
        for (std::size_t m = 0; m < kCount; ++m) {
            const Vec g = load(rows[m] + c);
            const Vec weighted = weights[m] * g;
            const Vec size = absolute(weighted);
            gradient += weighted;
            additive += size;
            slack += slacks[m] * size;
            product += head != nullptr ? x * size - along[m] * weighted : g * weighted;
        }
        store(sums + layout.gradient() + c) = gradient;
        store(sums + layout.additive() + c) = additive;
        store(sums + layout.slack() + c) = slack;
        store(sums + layout.product() + c) = product;
    }
}

void add_profile(double* sums, const double* const* rows, const double* weights, const double* slacks,
                 std::size_t count, std::size_t labels, const double* head) {
    const ProfileLayout layout(labels);
    std::size_t m = 0;
    for (; m + 4 <= count; m += 4) add_profile_group<4>(sums, layout, rows + m, weights + m, slacks + m, head);
    for (; m < count; ++m) add_profile_group<1>(sums, layout, rows + m, weights + m, slacks + m, head);
}

GainBounds bound_gain(const double* whole, const double* part, std::size_t labels, const double* head, double l2,
                      double noise, double* residual) {
    const ProfileLayout layout(labels);
    const auto at = [&](std::size_t place) {
        return part != nullptr ? load(whole + place) - load(part + place) : load(whole + place);
    };
    Vec least = {}, most = {}, rest = {}, linear = {}, quadratic = {};
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        const Vec g = at(layout.gradient() + c);
        const Vec lower = maximum(at(layout.slack() + c) - noise, Vec{}) + l2;
        most += g * g / lower;
        if (head == nullptr) continue;
        least += g * g / (maximum(at(layout.additive() + c) + noise, Vec{}) + l2);
        const Vec x = load(head + c);
        const Vec product = at(layout.product() + c) + l2 * x;
        const Vec r = -g - product;
        linear += g * x;
        quadratic += x * product;
        rest += r * r / lower;
        if (residual != nullptr) store(residual + c) = r;
    }
    if (head == nullptr) return {0.0, 0.5 * sum(most), 0.0};
    const double at_head = -(sum(linear) + 0.5 * sum(quadratic));
    const double plain = 0.5 * sum(most);
    const double anchored = at_head + 0.5 * sum(rest);
    const double simple = 0.5 * sum(least);
    return {simple > at_head ? simple : at_head, plain < anchored ? plain : anchored, at_head};
}

template <std::size_t kCount>
inline void add_product_group(double* product, std::size_t padded, const double* const* rows, const double* weights,
                              const double* head) {
    double along[kCount];
    for (std::size_t m = 0; m < kCount; ++m) along[m] = weights[m] * dot(rows[m], head, padded);
    for (std::size_t c = 0; c < padded; c += kLanes) {
        Vec total = load(product + c);
        Vec size = {};
        for (std::size_t m = 0; m < kCount; ++m) {
            const Vec g = load(rows[m] + c);
            size += weights[m] * absolute(g);
            total -= along[m] * g;
        }
        store(product + c) = total + load(head + c) * size;
    }
}

// product += H x over the examples.
void add_hessian_product(double* product, const double* const* rows, const double* weights, std::size_t count,
                         std::size_t labels, const double* head) {
    const std::size_t padded = padded_size(labels);
    std::size_t m = 0;
    for (; m + 4 <= count; m += 4) add_product_group<4>(product, padded, rows + m, weights + m, head);
    for (; m < count; ++m) add_product_group<1>(product, padded, rows + m, weights + m, head);
}

}  // namespace
}  // namespace labelboost
