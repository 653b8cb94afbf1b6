// What a new rule or tree changes: scores and gradients of the examples that it covers.
#include <algorithm>
#include <cmath>

#include "booster.hpp"

namespace labelboost {
namespace {

// Gradients are mostly advanced from the ones before; this often, and after the largest scores, they are computed anew
// from the scores, so that rounding errors do not add up and nothing that vanished is missed.
constexpr std::size_t kUpdatesBetweenExact = 64;
constexpr double kLargestAdvanced = 300.0;

// Examples whose scores and gradients a task updates.
constexpr std::size_t kPart = 256;

}  // namespace

template <typename Work>
void Booster::for_each_part(std::span<const std::int32_t> examples, const Work& work) {
    Interrupt never{{}};
    const auto run_part = [&](std::size_t part, std::size_t) {
        const std::size_t begin = part * kPart;
        work(examples.subspan(begin, std::min(kPart, examples.size() - begin)));
    };
    pool_.run((examples.size() + kPart - 1) / kPart, never, run_part);
}

void Booster::add_heads(const std::vector<ScoredRegion>& regions, Interrupt& interrupt) {
    interrupt.check();  // the last chance: from here on the state changes, to the end
    const bool anew = updates_++ % kUpdatesBetweenExact == 0;
    for (const ScoredRegion& region : regions) add_head(region, regions.size() == 1, anew);
}

// anew: whether gradients are computed from the scores, not from the ones before; only: whether it is the only region.
void Booster::add_head(const ScoredRegion& region, bool only, bool anew) {
    const std::vector<std::int32_t>& covered = *region.covered;
    const std::vector<double>& head = *region.head;
    if (settings_.separate_labels()) {
        std::vector<ChangedLabel> changed;
        for (std::size_t k = 0; k < labels_count_; ++k) {
            if (head[k] != 0.0) changed.push_back({k, label_scores_.begin(k, covered, head[k])});
        }
        update_label_gradients(covered, changed);
        return;
    }
    const std::size_t padded = padded_size(labels_count_);
    AlignedVector padded_head(padded, 0.0);
    std::copy(head.begin(), head.end(), padded_head.begin());
    if (settings_.loss == Loss::labelset_softmax) {
        update_set_gradients(covered, padded_head, anew);
        return;
    }
    AlignedVector raise(padded), lower(padded);
    for (std::size_t k = 0; k < padded && !anew; ++k) {
        raise[k] = std::exp(padded_head[k]);
        lower[k] = std::exp(-padded_head[k]);
    }
    double largest_of_head = 0.0;
    for (const double score : head) largest_of_head = std::max(largest_of_head, std::abs(score));
    if (only && !anew && scores_.room_for_later() && scores_.largest() + largest_of_head < kLargestAdvanced) {
        const ExampleScores::Later later = scores_.add_later(padded_head, largest_of_head);
        for_each_part(covered, [&](std::span<const std::int32_t> part) {
            for (const std::int32_t example : part) later.mark(example);
            gradients_.advance(raise, lower, part);
        });
        return;
    }
    scores_.catch_up(pool_);
    for_each_part(covered, [&](std::span<const std::int32_t> part) {
        constexpr std::size_t kAhead = 16;
        for (std::size_t i = 0; i < part.size(); ++i) {
            if (i + kAhead < part.size()) {
                scores_.prefetch(part[i + kAhead]);
                gradients_.rows<double>().prefetch(part[i + kAhead]);
                if (gradients_.rounded()) gradients_.rows<float>().prefetch(part[i + kAhead]);
            }
            double* const scores = scores_.row(part[i]);
            const double largest = active_kernels().add_scores(scores, padded_head.data(), padded);
            if (!anew && largest < kLargestAdvanced) {
                gradients_.advance(raise, lower, part.subspan(i, 1));
                continue;
            }
            const std::int8_t* const signs = signs_.data() + static_cast<std::size_t>(part[i]) * padded;
            gradients_.slack(part[i]) = active_kernels().example_gradient(scores, signs, padded, gradients_.row(part[i]));
            gradients_.update_rounded(part[i], padded);
        }
    });
    scores_.note_growth(largest_of_head);
}

void Booster::update_set_gradients(const std::vector<std::int32_t>& covered, const AlignedVector& head, bool anew) {
    const std::size_t size = padded_size(sets_.size());
    AlignedVector factors(size, 0.0);
    const bool advance = form_.sets != nullptr && !anew && sets_.factors(head.data(), factors.data());
    for_each_part(covered, [&](std::span<const std::int32_t> part) {
        const Kernels& kernels = active_kernels();
        AlignedVector unstored(form_.sets != nullptr ? 0 : kLanes * size);
        AlignedVector sums(sets_.marginal_scratch_size());
        for (std::size_t begin = 0; begin < part.size(); begin += kLanes) {
            const std::size_t count = std::min(kLanes, part.size() - begin);
            const double* distributions[kLanes];
            double* rows[kLanes];
            for (std::size_t i = 0; i < count; ++i) {
                const std::int32_t example = part[begin + i];
                double* const distribution =
                    form_.sets != nullptr ? gradients_.probabilities(example) : unstored.data() + i * size;
                kernels.add_scores(scores_.row(example), head.data(), head.size());
                if (advance) {
                    kernels.advance_distribution(distribution, factors.data(), size);
                } else {
                    sets_.distribution(scores_.row(example), distribution);
                }
                distributions[i] = distribution;
                rows[i] = gradients_.row(example);
            }
            sets_.marginals({distributions, count}, {rows, count}, sums.data());
            for (std::size_t i = 0; i < count; ++i) find_differences(part[begin + i]);
        }
    });
}

// From the marginals of an example: its gradient, where that is wanted, too, or instead.
void Booster::find_differences(std::int32_t example) {
    const std::size_t padded = padded_size(labels_count_);
    double* const marginals = gradients_.row(example);
    double* gradient = marginals;
    if (form_.sets != nullptr) {
        if (!gradients_.has_differences()) return;
        gradient = gradients_.differences(example);
        std::copy_n(marginals, padded, gradient);
    }
    for (const std::uint32_t k : sets_.members(sets_.set_of(example))) gradient[k] -= 1.0;
    gradients_.update_rounded(example, padded);
}

// Part by part, as the rows of a few examples stay in the cache while all labels are written to them.
void Booster::update_label_gradients(const std::vector<std::int32_t>& covered, const std::vector<ChangedLabel>& changed) {
    for_each_part(covered, [&](std::span<const std::int32_t> part) {
        double gradients[kPart];
        for (const auto& [label, addition] : changed) {
            label_scores_.finish(label, part, addition);
            label_scores_.gradients(label, part, gradients);
            for (std::size_t i = 0; i < part.size(); ++i) gradients_.set(part[i], label, gradients[i]);
        }
    });
}

}  // namespace labelboost
