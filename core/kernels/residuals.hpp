// Bounds on the quality of a candidate in joint form from histograms: 2 K + 3 sums per value of a feature.
//
// For a given head x a region has the residual r = -g - (H + l2 I) x, and the head alone gains f = -(g.x + x^T (H + l2 I) x
// / 2) = (r.x - g.x) / 2. The best gain of the region is f + r^T A^-1 r / 2, and as A lies between diag(e + l2) and
// diag(d + l2) (see profiles.hpp), it lies between f + sum r^2 / (d + l2) / 2 and f + sum r^2 / (e + l2) / 2. Here d is not
// added up: no region has more of it than the whole, nor more than its mass, the sum of |g| over examples and labels. For
// x = 0 the upper bound also holds with label bins, however labels are grouped. A row is what an example adds to all that
// but for the L2 terms: r, e, g.x, the mass, and a 1 that counts it. Cost per example: 4 K multiply-adds to make it, 2 K additions per feature.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// kVectors: in a gradient; 0 if there are many. Sections follow each other without padding, so vectors reach into what is
// stored later, but not behind the last row.
template <std::size_t kVectors>
inline void pack_residuals_of(const PackTask& task, const float* head, float* rows) {
    // No slack in single precision is closer to that in double precision than this.
    constexpr float kOff = 1e-7f;
    const std::size_t labels = task.labels, size = residual_row_size(labels);
    const std::size_t end = kVectors > 0 ? kWide * kVectors : labels;
    for (std::size_t m = 0; m < task.count; ++m) {
        const float* const gradient = task.gradient(m);
        const float weight = task.weight(m), slack = task.slack(m), weighted_slack = weight * slack;
        float* const row = rows + m * size;
        VecF products = {};
        for (std::size_t c = 0; c < end; c += kWide) products += load(gradient + c) * load(head + c);
        const float along = sum(products), kept = weight * (1.0f - along);
        for (std::size_t c = 0; c < end; c += kWide) {
            const VecF g = load(gradient + c);
            store_anywhere(row + c, -(kept * g + (weight * load(head + c)) * absolute(g)));
        }
        for (std::size_t c = 0; c < end; c += kWide) {
            const VecF size_of_gradient = absolute(load(gradient + c));
            store_section(row + labels, c, labels, weighted_slack * size_of_gradient, m + 1 == task.count);
        }
        row[2 * labels] = weight * along;
        row[2 * labels + 1] = weight * (1.0f - slack + kOff);
        row[2 * labels + 2] = 1.0f;
    }
}

void pack_residuals(const PackTask& task, const float* head, float* rows) {
    switch ((task.labels + kWide - 1) / kWide) {
        case 1: return pack_residuals_of<1>(task, head, rows);
        case 2: return pack_residuals_of<2>(task, head, rows);
        default: return pack_residuals_of<0>(task, head, rows);
    }
}

// What is so small may have vanished in single precision, however many examples there are.
constexpr double kVanishing = 1e-24;

// No element of an example's residual is larger than (1 + 2 max |x|) |g|, as |g.x| <= max |x|.
GainBounds bound_residual(const double* whole, const double* part, const double* additive, std::size_t labels,
                          const double* head, bool binned, double l2, double noise, double rounding) {
    const ResidualLayout layout(labels);
    const double* const summed = part != nullptr ? part : whole;
    const auto at = [&](std::size_t place) {
        return part != nullptr ? load(whole + place) - load(part + place) : load(whole + place);
    };
    const auto number = [&](std::size_t place) { return whole[place] - (part != nullptr ? part[place] : 0.0); };
    const double mass = summed[layout.mass()];
    Vec largest_of_lanes = {};
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        largest_of_lanes = maximum(largest_of_lanes, absolute(load(head + c)));
    }
    const double largest = -smallest(-largest_of_lanes);
    const double own_mass = number(layout.mass()) + rounding * mass;
    Vec least = {}, most = {}, twice = {};
    for (std::size_t c = 0; c < layout.padded; c += kLanes) {
        const Vec x = load(head + c), whole_additive = load(additive + c);
        const Vec error = rounding * (minimum(whole_additive, broadcast(mass)) + kVanishing);
        const Vec off = (1.0 + 2.0 * largest) * error;
        const Vec residual = at(layout.residual() + c) - l2 * x, r = absolute(residual);
        const Vec larger = r + off, smaller = maximum(r - off, Vec{});
        most += larger * larger / (maximum(at(layout.slack() + c) - noise - error, Vec{}) + l2);
        least += smaller * smaller / (maximum(minimum(whole_additive, broadcast(own_mass)), Vec{}) + noise + l2);
        twice += residual * x;
    }
    const double at_head = 0.5 * (sum(twice) - number(layout.along()));
    const double unsure = largest * (1.0 + largest) * rounding * mass;
    return {binned ? 0.0 : at_head - unsure + 0.5 * sum(least), at_head + unsure + 0.5 * sum(most), at_head};
}

}  // namespace
}  // namespace labelboost
