// Approximate qualities of the many splits of a numeric feature, so that only promising ones are solved exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

    // Starts a list of examples in the order of a feature's values.
    void clear();
    // Appends examples that are not separated, with a split behind them; weights are indexed by example.
    void append(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples);
    // Scores every split of the list. total: sums of everything before and behind the splits.
    void run(const AlignedVector& total, double noise);
    // Quality of the examples before split s, and of those behind it; -infinity: not decided.
    float first(std::size_t s) const { return first_[ends_[s] - 1]; }
    float rest(std::size_t s) const { return rest_[ends_[s] - 1]; }

private:
    Form form_;
    const Settings& settings_;
    std::vector<float> bins_for_;
    AlignedVectorOf<float> scratch_;
    AlignedVector before_;
    std::vector<const float*> rows_;
    std::vector<float> weights_, first_, rest_;
    std::vector<std::uint8_t> wanted_;
    std::vector<std::size_t> ends_;
};

}  // namespace labelboost
