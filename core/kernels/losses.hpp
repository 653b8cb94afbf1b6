// Losses and their gradients for one example. Adding a loss: here, in ../losses.hpp and in losses.py.
//
// Both losses have the second derivatives h_kk = |g_k| (1 - |g_k|). The example-wise loss adds h_kj = -g_k g_j,
// so that the gradient alone determines the Hessian of an example: diag(|g|) - g g^T.
// Cost: one exponential per label, eight at a time.
#pragma once

#include "../losses.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

// +1 for relevant, -1 for irrelevant labels, 0 for padding.
inline Vec load_signs(const std::int8_t* signs) {
    return from_lanes<double>([&](std::size_t i) { return static_cast<double>(signs[i]); });
}

// exp(x) to about one unit in the last place; arguments are limited to [-708, 708].
inline Vec exponential(Vec x) {
    x = maximum(x, broadcast(-708.0));
    x = select(x > broadcast(708.0), broadcast(708.0), x);
    // x = n log 2 + r with |r| <= log(2) / 2; adding 1.5 * 2^52 rounds to an integer and keeps it in the low bits.
    const Vec shifter = broadcast(0x1.8p52);
    const Vec shifted = x * 0x1.71547652b82fep0 + shifter;
    const Vec n = shifted - shifter;
    Vec r = x - n * 0x1.62e42fefa39efp-1;
    r -= n * 0x1.abc9e3b39803fp-56;
    // Taylor polynomial: the first omitted term is below 2^-57 relative.
    constexpr double kInverseFactorials[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                                             1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                                             1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        1.0 / 2.0,
                                             1.0,                1.0};
    Vec p = broadcast(kInverseFactorials[0]);
    for (std::size_t i = 1; i < sizeof(kInverseFactorials) / sizeof(double); ++i) p = p * r + kInverseFactorials[i];
    const VecMask exponent = as<VecMask>(shifted) << 52;
    return as<Vec>(as<VecMask>(p) + exponent);
}

// The largest of 0 and all -y_k p_k: shifting the exponents by it rules out overflow.
inline double largest_exponent(const double* scores, const std::int8_t* signs, std::size_t padded) {
    Vec largest = {};
    for (std::size_t c = 0; c < padded; c += kLanes) largest = maximum(largest, -load_signs(signs + c) * load(scores + c));
    double result = 0.0;
    for (std::size_t i = 0; i < kLanes; ++i) result = largest[i] > result ? largest[i] : result;
    return result;
}

// log(1 + sum_k exp(-y_k p_k)); returns the shifted sum including the leading 1.
inline double example_logistic_terms(const double* scores, const std::int8_t* signs, std::size_t padded, double shift,
                                     double* terms) {
    Vec total = {};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec sign = load_signs(signs + c);
        const Vec term = absolute(sign) * exponential(-sign * load(scores + c) - shift);
        store(terms + c) = term;
        total += term;
    }
    return sum(total) + __builtin_exp(-shift);
}

// Returns the slack 1 - sum |g|, without cancellation.
double example_gradient(const double* scores, const std::int8_t* signs, std::size_t padded, double* gradient) {
    const double shift = largest_exponent(scores, signs, padded);
    const double scale = 1.0 / example_logistic_terms(scores, signs, padded, shift, gradient);
    for (std::size_t c = 0; c < padded; c += kLanes) store(gradient + c) *= -scale * load_signs(signs + c);
    return scale * __builtin_exp(-shift);
}

inline Vec label_logistic_gradient(Vec score, Vec sign) { return -sign / (1.0 + exponential(sign * score)); }

void label_gradients(const double* scores, const double* signs, std::size_t count, double* gradients) {
    for (std::size_t c = 0; c < count; c += kLanes) {
        store(gradients + c) = label_logistic_gradient(load(scores + c), load(signs + c));
    }
}

// With e_k = exp(-y_k p_k), g_k = -y_k e_k / (1 + sum e): a head h turns e_k into e_k exp(-y_k h_k), so the new gradient
// follows from the old one and the slack 1 / (1 + sum e) by a multiplication per label, and no exponentials but
// those of the head. Every number keeps its relative precision.
// kBlocks: of labels; 0 if there are many.
template <std::size_t kBlocks>
inline void advance_gradients_of(const AdvanceTask& task) {
    constexpr std::size_t kAhead = 16;
    const std::size_t padded = task.padded;
    for (std::size_t m = 0; m < task.count; ++m) {
        const auto example = static_cast<std::size_t>(task.examples[m]);
        double* const gradient = task.gradients + example * padded;
        float* const rounded = task.rounded != nullptr ? task.rounded + example * task.rounded_stride : nullptr;
        if (task.far && m + kAhead < task.count) {
            const auto later = static_cast<std::size_t>(task.examples[m + kAhead]);
            for (std::size_t c = 0; c < padded; c += kLanes) __builtin_prefetch(task.gradients + later * padded + c, 1, 2);
            for (std::size_t c = 0; rounded != nullptr && c < padded; c += kWide) {
                __builtin_prefetch(task.rounded + later * task.rounded_stride + c, 1, 2);
            }
        }
        const auto next = [&](std::size_t c) {
            const Vec g = load(gradient + c);
            return g * select(g < Vec{}, load(task.lower + c), load(task.raise + c));  // g < 0: a relevant label
        };
        Vec kept[kBlocks > 0 ? kBlocks : 1], total = {};
        for (std::size_t b = 0; b < kBlocks; ++b) {
            kept[b] = next(kLanes * b);
            total += absolute(kept[b]);
        }
        for (std::size_t c = 0; kBlocks == 0 && c < padded; c += kLanes) {
            const Vec product = next(c);
            store(gradient + c) = product;
            total += absolute(product);
        }
        double& slack = task.slacks[example];
        const double scale = 1.0 / (slack + sum(total));
        slack *= scale;
        const auto finish = [&](std::size_t c, Vec scaled) {
            store(gradient + c) = scaled;
            if (rounded != nullptr) store_rounded(rounded + c, scaled);
        };
        for (std::size_t b = 0; b < kBlocks; ++b) finish(kLanes * b, scale * kept[b]);
        for (std::size_t c = 0; kBlocks == 0 && c < padded; c += kLanes) finish(c, scale * load(gradient + c));
    }
}

void advance_gradients(const AdvanceTask& task) {
    switch (task.padded / kLanes) {
        case 1: return advance_gradients_of<1>(task);
        case 2: return advance_gradients_of<2>(task);
        case 3: return advance_gradients_of<3>(task);
        default: return advance_gradients_of<0>(task);
    }
}

// scores += head; returns the largest size of a score, before or after.
double add_scores(double* scores, const double* head, std::size_t padded) {
    Vec largest = {};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec before = load(scores + c);
        const Vec after = before + load(head + c);
        store(scores + c) = after;
        largest = maximum(largest, maximum(absolute(before), absolute(after)));
    }
    return -smallest(-largest);
}

// Padding receives zeros.
void softmax(double* values, std::size_t count) {
    double largest = values[0];
    for (std::size_t i = 1; i < count; ++i) largest = values[i] > largest ? values[i] : largest;
    const std::size_t padded = padded_size(count);
    for (std::size_t i = count; i < padded; ++i) values[i] = -__builtin_inf();
    Vec total = {};
    for (std::size_t c = 0; c < padded; c += kLanes) {
        const Vec x = load(values + c);
        // Nothing is left of what is that small; an infinite difference must not meet another infinity.
        const Vec e = select(x > broadcast(largest - 700.0), exponential(x - largest), Vec{});
        store(values + c) = e;
        total += e;
    }
    const double scale = 1.0 / sum(total);
    for (std::size_t c = 0; c < padded; c += kLanes) store(values + c) *= scale;
}

void advance_distribution(double* probabilities, const double* factors, std::size_t size) {
    // What is smaller counts for nothing, and as a denormal number would only cost time.
    constexpr double kSmallest = 1e-290;
    Vec total = {};
    for (std::size_t c = 0; c < size; c += kLanes) {
        const Vec next = load(probabilities + c) * load(factors + c);
        const Vec kept = select(next > broadcast(kSmallest), next, Vec{});
        store(probabilities + c) = kept;
        total += kept;
    }
    const double scale = 1.0 / sum(total);
    for (std::size_t c = 0; c < size; c += kLanes) store(probabilities + c) *= scale;
}

// Side by side for kLanes distributions, as the members of a set are scattered.
void add_marginals(const double* const* distributions, std::size_t sets, const std::size_t* first,
                   const std::uint32_t* members, double* sums) {
    for (std::size_t begin = 0; begin < sets; begin += kLanes) {
        Vec block[kLanes];
        for (std::size_t lane = 0; lane < kLanes; ++lane) block[lane] = load(distributions[lane] + begin);
        transpose(block);
        for (std::size_t s = begin; s < begin + kLanes && s < sets; ++s) {
            for (std::size_t m = first[s]; m < first[s + 1]; ++m) {
                store(sums + kLanes * members[m]) += block[s - begin];
            }
        }
    }
}

// The loss of one example; scratch: padded doubles.
double loss_value(Loss loss, const double* scores, const std::int8_t* signs, std::size_t padded, double* scratch) {
    if (loss == Loss::example_logistic) {
        const double shift = largest_exponent(scores, signs, padded);
        return shift + __builtin_log(example_logistic_terms(scores, signs, padded, shift, scratch));
    }
    double total = 0.0;
    for (std::size_t k = 0; k < padded; ++k) {
        if (signs[k] == 0) continue;
        const double margin = signs[k] * scores[k];
        total += (margin < 0.0 ? -margin : 0.0) + __builtin_log1p(__builtin_exp(-__builtin_fabs(margin)));
    }
    return total;
}

}  // namespace
}  // namespace labelboost
