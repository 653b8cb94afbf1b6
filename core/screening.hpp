// Approximate qualities of the many splits of a numeric feature, so that only promising ones are solved exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "listing.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// One per thread: the memory of the screening kernels and the way to them.
class Screening {
public:
    Screening(const Form& form, const Settings& settings);

    // Whether the kernels can deal with the problem at all: few labels, and systems that are not singular.
    static bool possible(const Form& form, const Settings& settings);
    // Whether it pays for a list with so many examples and splits.
    static bool pays(std::size_t examples, std::size_t splits);

    // Scores the candidates of pairs whose parts grow from one to the next. weights: by example; listed: the examples
    // that the pairs speak of; total: sums of everything in a part and its rest.
    void run(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> listed,
             std::span<const CandidatePair> pairs, const AlignedVector& total, double noise);
    // Quality of the part and of the rest of a pair; -infinity: not decided.
    double part(std::size_t pair) const { return static_cast<double>(part_[place_[pair]]); }
    double rest(std::size_t pair) const { return static_cast<double>(rest_[place_[pair]]); }

private:
    void score_blocks(const AlignedVector& total, double noise);

    Form form_;
    const Settings& settings_;
    std::vector<float> bins_for_;
    AlignedVectorOf<float> scratch_;
    AlignedVector before_;
    std::vector<const float*> rows_;
    std::vector<float> weights_;
    std::vector<std::uint8_t> wanted_;
    AlignedVectorOf<float> part_, rest_;  // as the kernels leave them
    std::vector<std::size_t> place_;      // where the results of a pair stand
};

}  // namespace labelboost
