// Approximate qualities of all the splits of a long sorted list of examples, in single precision.
//
// The list is cut into sixteen pieces of equal length, one per vector lane, which are walked side by side: the
// sums of sixteen regions grow in one vector each, so that nothing is ever copied or transposed but the
// gradients themselves (K numbers per example instead of K^2 / 2). A forward walk gives the regions before
// each split, a backward walk those behind it; both only add, so small regions do not suffer from cancellation.
// What single precision cannot decide is given the quality -infinity and left to the exact evaluation, as are
// all candidates that come close to the best.
// Cost per example and direction, in vector operations: (K^2 / 2 + K^3 / 6) / 16, or (B K^2) / 16 with B bins; in
// diagonal form 10 K / 16.
#pragma once

#include "cholesky.hpp"
#include "simd.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kWide = Lanes<float>::kCount;

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

    void add(const float* step, VecF weight) const {
        for (std::size_t k = 0; k < labels; ++k) {
            const VecF g = load(step + kWide * k);
            const VecF size = absolute(g);
            store(gradient(k)) += weight * g;
            store(hessian(k)) += weight * (size - size * size);
        }
    }
};

inline VecF score_wide_diagonal(const WideDiagonal& sums, const ScreenTask& task) {
    VecF total = {}, best = {};
    for (std::size_t k = 0; k < sums.labels; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF a = maximum(load(sums.hessian(k)), VecF{}) + static_cast<float>(task.l2);
        const VecFMask usable = a > broadcast(static_cast<float>(task.noise));
        const VecF gain = select(usable, g * g / select(usable, a, broadcast(1.0f)), VecF{});
        total += gain;
        best = maximum(best, gain);
    }
    return -0.5f * (task.single ? best : total);
}

inline VecF score_wide_exact(const WideJoint& sums, const ScreenTask& task, float* system, VecFMask& doubt) {
    const std::size_t n = sums.labels;
    const float* gram = sums.gram(0, 0);
    float* target = system;
    for (std::size_t i = 0; i < n; ++i) {
        float* diagonal = target;
        for (std::size_t j = i; j < n; ++j, gram += kWide, target += kWide) store(target) = -load(gram);
        store(diagonal) += load(sums.additive(i)) + static_cast<float>(task.l2);
        store(target) = -load(sums.gradient(i));
        target += kWide;
    }
    VecF kept;
    const VecF quality = factorise_lanes<float>(system, n, static_cast<float>(task.noise), &kept);
    doubt |= kept < broadcast(kLeastKept);
    return quality;
}

// The labels of one sign in each lane: their number, the range of their criteria, and their bins.
struct WideSign {
    VecF count = {};
    VecF low = broadcast(__builtin_inff());
    VecF high = broadcast(-__builtin_inff());
    VecF bins = {};
    VecF scale = {};  // bins per unit of the criterion

    void add(VecF criterion, VecFMask member) {
        count += select(member, broadcast(1.0f), VecF{});
        low = select(member, minimum(low, criterion), low);
        high = select(member, maximum(high, criterion), high);
    }

    // Returns where the bins depend on digits that single precision does not have.
    VecFMask choose_bins(const float* bins_for) {
        for (std::size_t lane = 0; lane < kWide; ++lane) bins[lane] = bins_for[static_cast<int>(count[lane])];
        const VecFMask several = bins > broadcast(1.0f);
        const VecF range = select(several, high - low, broadcast(1.0f));
        const VecF size = select(several, maximum(absolute(low), absolute(high)), broadcast(1.0f));
        const VecFMask close = several & ~(range > 1e-3f * size);
        scale = bins / select(close, broadcast(1.0f), range);
        return close;
    }

    std::size_t most_bins() const {
        float most = 0.0f;
        for (std::size_t lane = 0; lane < kWide; ++lane) most = bins[lane] > most ? bins[lane] : most;
        return static_cast<std::size_t>(most);
    }

    VecF bin_of(VecF criterion, VecFMask member, VecFMask& doubt) const {
        const VecF position = select(member, (criterion - low) * scale, VecF{});
        const VecF nearest = round_down(position + 0.5f);
        const VecF error = 1e-5f * scale * maximum(absolute(low), absolute(high));
        doubt |= member & (absolute(position - nearest) < error) & (nearest > broadcast(0.5f)) & (nearest < bins - 0.5f);
        return minimum(round_down(position), bins - 1.0f);
    }
};

inline VecF score_wide_binned(const WideJoint& sums, const ScreenTask& task, float* scratch, VecFMask& doubt) {
    const std::size_t n = sums.labels;
    const auto l2 = static_cast<float>(task.l2);
    const auto noise = static_cast<float>(task.noise);

    float* criterion = scratch;
    WideSign negative, positive;
    for (std::size_t k = 0; k < n; ++k) {
        const VecF g = load(sums.gradient(k));
        const VecF d = load(sums.additive(k));
        const VecF a = maximum(d - load(sums.gram(k, k)), VecF{}) + l2;
        doubt |= absolute(g) < 1e-5f * d;
        const VecF c = select((a > broadcast(noise)) & (absolute(g) > broadcast(noise)), -g / a, VecF{});
        store(criterion + kWide * k) = c;
        negative.add(c, c < VecF{});
        positive.add(c, c > VecF{});
    }
    doubt |= negative.choose_bins(task.bins_for) | positive.choose_bins(task.bins_for);
    const std::size_t below = negative.most_bins();
    const std::size_t bins = below + positive.most_bins();  // negative ones first
    if (bins == 0) return VecF{};
    float* member = criterion + kWide * n;   // labels x bins, 0 or 1
    float* row = member + kWide * n * bins;  // bins x labels: sums over the labels of a bin
    float* system = row + kWide * bins * n;
    for (std::size_t k = 0; k < n; ++k) {
        const VecF c = load(criterion + kWide * k);
        const VecF bin_below = negative.bin_of(c, c < VecF{}, doubt);
        const VecF bin_above = positive.bin_of(c, c > VecF{}, doubt) + static_cast<float>(below);
        const VecF bin = select(c < VecF{}, bin_below, select(c > VecF{}, bin_above, broadcast(-1.0f)));
        for (std::size_t b = 0; b < bins; ++b) {
            const VecFMask here = bin == broadcast(static_cast<float>(b));
            store(member + kWide * (k * bins + b)) = select(here, broadcast(1.0f), VecF{});
        }
    }

    // row[b][j] = sum of Gram[i][j] over the labels i != j of bin b. The last bin's is needed by "exact" only.
    const std::size_t rows = task.exact ? bins : bins - 1;
    for (std::size_t b = 0; b < rows; ++b) {
        float* target = row + kWide * b * n;
        for (std::size_t j = 0; j < n; ++j) store(target + kWide * j) = VecF{};
        for (std::size_t i = 0; i < n; ++i) {
            const VecF own = load(member + kWide * (i * bins + b));
            VecF total = load(target + kWide * i);
            for (std::size_t j = i + 1; j < n; ++j) {
                const VecF gram = load(sums.gram(i, j));
                store(target + kWide * j) += own * gram;
                total += load(member + kWide * (j * bins + b)) * gram;
            }
            store(target + kWide * i) = total;
        }
    }
    for (std::size_t b = 0; b < bins; ++b) {
        float* target = system + kWide * lane_row(b, bins);
        VecF gradient = {}, diagonal = {};
        for (std::size_t k = 0; k < n; ++k) {
            const VecF own = load(member + kWide * (k * bins + b));
            gradient += own * load(sums.gradient(k));
            diagonal += own * (maximum(load(sums.additive(k)) - load(sums.gram(k, k)), VecF{}) + l2);
        }
        for (std::size_t q = b; q < bins; ++q) {
            VecF total = {};
            if (q > b || task.exact) {
                for (std::size_t j = 0; j < n; ++j) {
                    total += load(member + kWide * (j * bins + q)) * load(row + kWide * (b * n + j));
                }
            }
            store(target + kWide * (q - b)) = (q == b ? diagonal : VecF{}) - total;
        }
        store(target + kWide * (bins - b)) = -gradient;
    }
    VecF kept;
    const VecF quality = factorise_lanes<float>(system, bins, noise, &kept);
    doubt |= kept < broadcast(kLeastKept);
    return quality;
}

// Sorts the gradients of the examples by step and label: all lanes of a label in one vector.
inline void gather_steps(const ScreenTask& task, std::size_t steps, float* gathered, float* weights) {
    const std::size_t blocks = (task.labels + kWide - 1) / kWide;
    for (std::size_t s = 0; s < steps; ++s) {
        for (std::size_t block = 0; block < blocks; ++block) {
            VecF rows[kWide];
            for (std::size_t lane = 0; lane < kWide; ++lane) {
                const std::size_t place = lane * steps + s;
                rows[lane] = place < task.count ? load(task.rows[place] + kWide * block) : VecF{};
                weights[kWide * s + lane] = place < task.count ? task.weights[place] : 0.0f;
            }
            transpose(rows);
            for (std::size_t k = kWide * block; k < task.labels && k < kWide * (block + 1); ++k) {
                store(gathered + kWide * (s * task.labels + k)) = rows[k - kWide * block];
            }
        }
    }
}

// `score` returns the qualities of sixteen regions, and where they are in doubt.
template <typename Sums, typename Score>
inline void screen(const ScreenTask& task, float* scratch, float* first, float* rest, const Score& score) {
    const std::size_t n = task.labels;
    const std::size_t steps = (task.count + kWide - 1) / kWide;
    const std::size_t size = kWide * Sums::vectors(n);
    float* gathered = scratch;
    float* weights = gathered + kWide * n * steps;
    const Sums forward{n, weights + kWide * steps};
    const Sums backward{n, forward.values + size};
    float* rest_of_scratch = backward.values + size;
    gather_steps(task, steps, gathered, weights);

    // Where each lane starts, from the sums of all lanes: computed in double precision.
    for (std::size_t e = 0; e < size; e += kWide) store(forward.values + e) = VecF{};
    for (std::size_t s = 0; s < steps; ++s) forward.add(gathered + kWide * n * s, load(weights + kWide * s));
    Sums::for_each(n, [&](std::size_t e, std::size_t place) {
        float* ahead = forward.values + kWide * e;
        float* behind = backward.values + kWide * e;
        double running = task.before[place];
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            const double own = static_cast<double>(ahead[lane]);
            ahead[lane] = static_cast<float>(running);
            running += own;
            behind[lane] = static_cast<float>(task.total[place] - running);
        }
        task.before[place] = running;
    });

    const auto evaluate = [&](const Sums& sums, std::size_t s, float* target) {
        bool any = false;
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            any = any || (lane * steps + s < task.count && task.wanted[lane * steps + s] != 0);
        }
        if (!any) return;
        VecFMask doubt = {};
        const VecF quality = score(sums, rest_of_scratch, doubt);
        for (std::size_t lane = 0; lane < kWide; ++lane) {
            if (lane * steps + s < task.count) {
                target[lane * steps + s] = doubt[lane] ? -__builtin_inff() : quality[lane];
            }
        }
    };
    for (std::size_t s = 0; s < steps; ++s) {
        forward.add(gathered + kWide * n * s, load(weights + kWide * s));
        evaluate(forward, s, first);
    }
    for (std::size_t s = steps; s-- > 0;) {
        evaluate(backward, s, rest);
        backward.add(gathered + kWide * n * s, load(weights + kWide * s));
    }
}

void screen_joint(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideJoint>(task, scratch, first, rest, [&](const WideJoint& sums, float* room, VecFMask& doubt) {
        return task.bins_for == nullptr ? score_wide_exact(sums, task, room, doubt)
                                        : score_wide_binned(sums, task, room, doubt);
    });
}

void screen_diagonal(const ScreenTask& task, float* scratch, float* first, float* rest) {
    screen<WideDiagonal>(task, scratch, first, rest, [&](const WideDiagonal& sums, float*, VecFMask&) {
        return score_wide_diagonal(sums, task);
    });
}

}  // namespace
}  // namespace labelboost
