// Approximate qualities of the many splits of a numeric feature, so that only promising ones are solved exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "activity.hpp"
#include "aligned.hpp"
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

    // Examples in the order in which they join a growing region, and where there are splits: after so many examples each.
    struct Walk {
        std::span<const std::int32_t> examples;
        bool from_the_back;
        std::span<const std::uint32_t> splits;
        const AlignedVector* start = nullptr;  // sums of what is in the region from the beginning; null: nothing
        double start_weight = 0.0;
    };
    // Scores the region before each split, and the one behind it. weights: by example; total: sums of both together.
    void run(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk, const AlignedVector& total,
             double total_weight, double noise, ActivityMark& activity);
    // The qualities of the regions before and behind split s; -infinity: not decided.
    double before(std::size_t s) const { return static_cast<double>(before_quality_[place_[s]]); }
    double behind(std::size_t s) const { return static_cast<double>(behind_quality_[place_[s]]); }

private:
    void score_blocks(const Walk& walk, const AlignedVector& total, double total_weight, double noise, ActivityMark& activity);

    Form form_;
    const Settings& settings_;
    std::vector<float> bins_for_;
    AlignedVectorOf<float> scratch_;
    AlignedVector sums_before_;
    std::vector<const float*> rows_;
    std::vector<float> weights_;
    std::vector<std::uint8_t> wanted_;
    AlignedVectorOf<float> before_quality_, behind_quality_;  // as the kernels leave them
    std::vector<std::uint32_t> place_;                        // where the results of a split stand
};

}  // namespace labelboost
