// Sums of sixteen regions at a time, one per vector lane, in single precision.
//
// Each element of the sums is a vector, so that adding one example to every region costs a multiply-add per element and
// nothing is transposed but the gradients: K^2 / 2 + 2 K vector operations in joint form, 4 K in diagonal form.
#pragma once

#include "simd.hpp"

namespace labelboost {
namespace {

// Sums of sixteen regions in joint form: gradients, additive vectors, upper triangle of the Gram matrix.
struct WideJoint {
    std::size_t labels;
    float* values;

    static std::size_t vectors(std::size_t labels) { return 2 * labels + labels * (labels + 1) / 2; }
    // Calls visit(vector number, place in JointLayout) for every element.
    template <typename Visit>
    static void for_each(std::size_t labels, const Visit& visit) {
        const JointLayout layout(labels);
        std::size_t e = 0;
        for (std::size_t k = 0; k < labels; ++k) visit(e++, layout.gradient() + k);
        for (std::size_t k = 0; k < labels; ++k) visit(e++, layout.additive() + k);
        for (std::size_t i = 0; i < labels; ++i) {
            for (std::size_t j = i; j < labels; ++j) visit(e++, layout.diagonal(i) + (j - i));
        }
    }
    float* gradient(std::size_t k) const { return values + kWide * k; }
    float* additive(std::size_t k) const { return values + kWide * (labels + k); }
    float* gram(std::size_t i, std::size_t j) const {  // i <= j
        return values + kWide * (2 * labels + i * labels - i * (i + 1) / 2 + j);
    }

    // Adds one example per lane; `step` holds their gradients, a vector per label.
    void add(const float* step, VecF weight) const {
        float* target = gram(0, 0);
        for (std::size_t i = 0; i < labels; ++i) {
            const VecF scaled = weight * load(step + kWide * i);
            store(gradient(i)) += scaled;
            store(additive(i)) += absolute(scaled);
            for (std::size_t j = i; j < labels; ++j, target += kWide) store(target) += scaled * load(step + kWide * j);
        }
    }
    void add_sums(const float* other) const {
        for (std::size_t e = 0; e < kWide * vectors(labels); e += kWide) store(values + e) += load(other + e);
    }

    // Sets the sums to those of several examples per lane. Elements of the Gram matrix are formed in registers, eight at
    // a time. room: a vector per label and example.
    void sum_up(const float* steps, const float* weights, std::size_t count, float* room) const {
        for (std::size_t k = 0; k < labels; ++k) {
            VecF total = {}, sizes = {};
            for (std::size_t s = 0; s < count; ++s) {
                const VecF scaled = load(weights + kWide * s) * load(steps + kWide * (s * labels + k));
                store(room + kWide * (s * labels + k)) = scaled;
                total += scaled;
                sizes += absolute(scaled);
            }
            store(gradient(k)) = total;
            store(additive(k)) = sizes;
        }
        for (std::size_t i = 0; i < labels; i += 2) {
            std::size_t j = i;
            if (i + 1 == labels) {
                sum_up_tile<1, 1>(steps, count, room, i, j);
                continue;
            }
            for (; j + 4 <= labels; j += 4) sum_up_tile<2, 4>(steps, count, room, i, j);
            for (; j < labels; ++j) sum_up_tile<2, 1>(steps, count, room, i, j);
        }
    }

private:
    // The Gram elements of kRows labels from i on with kColumns labels from j on.
    template <std::size_t kRows, std::size_t kColumns>
    void sum_up_tile(const float* steps, std::size_t count, const float* scaled, std::size_t i, std::size_t j) const {
        VecF total[kRows][kColumns] = {};
        for (std::size_t s = 0; s < count; ++s) {
            const float* const step = steps + kWide * (s * labels + j);
            const float* const factors = scaled + kWide * (s * labels + i);
            for (std::size_t r = 0; r < kRows; ++r) {
                const VecF factor = load(factors + kWide * r);
                for (std::size_t c = 0; c < kColumns; ++c) total[r][c] += factor * load(step + kWide * c);
            }
        }
        for (std::size_t r = 0; r < kRows; ++r) {
            for (std::size_t c = 0; c < kColumns; ++c) {
                if (j + c >= i + r) store(gram(i + r, j + c)) = total[r][c];
            }
        }
    }
};

// The same for one bin per sign and the paper's aggregation: two unknowns, whose common element is the sum of Gram[i][j]
// over all labels i and j of different sign. With signs s that is (sum Gram - sum s_i s_j Gram) / 2 over the pairs
// i < j. The second sum is formed while the examples are added; the first is a sum over examples itself.
struct WideSigned : WideJoint {
    static std::size_t vectors(std::size_t labels) { return WideJoint::vectors(labels) + 1; }
    float* pairs() const { return values + kWide * WideJoint::vectors(labels); }

    // To be called when the sums of the examples before a lane's first have been filled in.
    void start() const {
        VecF total = {};
        for (std::size_t i = 0; i < labels; ++i) {
            for (std::size_t j = i + 1; j < labels; ++j) total += load(gram(i, j));
        }
        store(pairs()) = total;
    }

    // The sum of s_i s_j Gram[i][j]. signs: room for one vector per label.
    VecF signed_pairs(float* signs) const {
        for (std::size_t k = 0; k < labels; ++k) {
            store(signs + kWide * k) = select(load(gradient(k)) < VecF{}, broadcast(-1.0f), broadcast(1.0f));
        }
        VecF all = {};
        for (std::size_t i = 0; i < labels; ++i) {
            VecF row = {};
            const float* element = gram(i, i) + kWide;
            for (std::size_t j = i + 1; j < labels; ++j, element += kWide) row += load(element) * load(signs + kWide * j);
            all += load(signs + kWide * i) * row;
        }
        return all;
    }

    void add(const float* step, VecF weight) const {
        WideJoint::add(step, weight);
        add_pairs(step, weight);
    }

    // Adds one example per lane and returns the sum of s_i s_j Gram[i][j]. signs: room for one vector per label.
    VecF add_signed(const float* step, VecF weight, float* signs) const {
        add_pairs(step, weight);
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF scaled = weight * load(step + kWide * k);
            const VecF total = load(gradient(k)) + scaled;
            store(gradient(k)) = total;
            store(additive(k)) += absolute(scaled);
            store(signs + kWide * k) = select(total < VecF{}, broadcast(-1.0f), broadcast(1.0f));
        }
        VecF all = {};
        float* target = gram(0, 0);
        for (std::size_t i = 0; i < labels; ++i) {
            const VecF scaled = weight * load(step + kWide * i);
            store(target) += scaled * load(step + kWide * i);
            target += kWide;
            // Two chains of additions, as one would wait for itself.
            VecF even = {}, odd = {};
            std::size_t j = i + 1;
            for (; j + 2 <= labels; j += 2, target += 2 * kWide) {
                const VecF first = load(target) + scaled * load(step + kWide * j);
                const VecF second = load(target + kWide) + scaled * load(step + kWide * (j + 1));
                store(target) = first;
                store(target + kWide) = second;
                even += first * load(signs + kWide * j);
                odd += second * load(signs + kWide * (j + 1));
            }
            if (j < labels) {
                const VecF last = load(target) + scaled * load(step + kWide * j);
                store(target) = last;
                target += kWide;
                even += last * load(signs + kWide * j);
            }
            all += load(signs + kWide * i) * (even + odd);
        }
        return all;
    }

private:
    void add_pairs(const float* step, VecF weight) const {
        VecF total = {}, squares = {};
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF g = load(step + kWide * k);
            total += g;
            squares += g * g;
        }
        store(pairs()) += 0.5f * weight * (total * total - squares);
    }
};

// The same in diagonal form: gradients, then the diagonal of the Hessian.
struct WideDiagonal {
    std::size_t labels;
    float* values;

    static std::size_t vectors(std::size_t labels) { return 2 * labels; }
    template <typename Visit>
    static void for_each(std::size_t labels, const Visit& visit) {
        const DiagonalLayout layout(labels);
        for (std::size_t k = 0; k < labels; ++k) visit(k, layout.gradient() + k);
        for (std::size_t k = 0; k < labels; ++k) visit(labels + k, layout.hessian() + k);
    }
    float* gradient(std::size_t k) const { return values + kWide * k; }
    float* hessian(std::size_t k) const { return values + kWide * (labels + k); }

    struct Sums {
        VecF gradient, hessian;
    };
    // Adds one example per lane to the sums of one label, and returns them.
    Sums add_label(std::size_t k, const float* step, VecF weight) const {
        const VecF g = load(step + kWide * k);
        const VecF size = absolute(g);
        const Sums sums{load(gradient(k)) + weight * g, load(hessian(k)) + weight * (size - size * size)};
        store(gradient(k)) = sums.gradient;
        store(hessian(k)) = sums.hessian;
        return sums;
    }
    void add(const float* step, VecF weight) const {
        for (std::size_t k = 0; k < labels; ++k) add_label(k, step, weight);
    }
};

// The same for leaps: the sums of a leap's examples have their sizes, too, that is how far the gradient can get on the way.
struct WideDiagonalLeaps : WideDiagonal {
    static std::size_t vectors(std::size_t labels) { return 3 * labels; }
    const float* size(std::size_t k) const { return values + kWide * (2 * labels + k); }

    void add_sums(const float* other) const {
        for (std::size_t e = 0; e < kWide * WideDiagonal::vectors(labels); e += kWide) {
            store(values + e) += load(other + e);
        }
    }

    // Sets the sums to those of several examples per lane.
    void sum_up(const float* steps, const float* weights, std::size_t count, float*) const {
        for (std::size_t k = 0; k < labels; ++k) {
            VecF total = {}, hessians = {}, sizes = {};
            for (std::size_t s = 0; s < count; ++s) {
                const VecF g = load(steps + kWide * (s * labels + k));
                const VecF scaled = load(weights + kWide * s) * g;
                const VecF scaled_size = absolute(scaled);
                total += scaled;
                sizes += scaled_size;
                hessians += scaled_size - scaled_size * absolute(g);
            }
            store(gradient(k)) = total;
            store(hessian(k)) = hessians;
            store(values + kWide * (2 * labels + k)) = sizes;
        }
    }
};

}  // namespace
}  // namespace labelboost
