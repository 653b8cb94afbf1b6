// Label-wise training on many examples: which blocks of a feature's ranks can hold the best split.
//
// Along the values of a feature the sums of a region change little within a block. With P and N the sums of positive and
// negative gradients of a block, a region that ends in it has a gradient between G - N and G + P of a label, where G is that
// of everything before, and a second derivative of no less than that of everything before. So the histogram over a few
// hundred blocks, filled in the order of memory, tells which blocks are worth a look; others need not be put in order,
// though their thresholds are exact. What is left are the first and the last block, which nothing is known of, and those
// around the best splits. Cost per example and feature: 3 K additions, instead of listing and K operations in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "columns.hpp"
#include "ranked.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// A candidate by the last rank of its lower side: 2 rank, or 2 rank + 1 for the upper side.
struct RankFinding {
    std::uint32_t slot;
    double quality;
};

// What is needed to know of a coverage; all by example but for `sample`, the covered examples in ascending order.
struct RankedExamples {
    const Gradients& gradients;
    const std::vector<double>& weights;
    const std::vector<std::uint8_t>& sampled;
    const std::vector<std::int32_t>& sample;
    const AlignedVector& total;  // the sums of all covered examples
};

class BlockedFeature {
public:
    static bool possible(const Form& form, const Settings& settings);
    // Whether it is worth it for a feature and so many covered examples.
    static bool pays(const Column& column, std::size_t covered);

    void start(const Column& column, std::size_t covered, std::size_t labels);
    static void add_up(const Gradients& gradients, const std::vector<double>& weights,
                       std::span<const std::int32_t> examples, std::size_t labels,
                       std::span<RankHistogram* const> histograms, RankAdder& adder, Interrupt& interrupt);
    RankHistogram& histogram() { return histogram_; }

    // Once all has been added: the gain that some split between two blocks is certain to have.
    double find_bounds(const Settings& settings, double noise, std::size_t least_coverage);
    std::size_t blocks() const { return histogram_.blocks(); }
    // The gain that no split in a block exceeds.
    double most_gained(std::size_t block) const { return bounds_[block].most; }
    // Whether the gain of a split in a block, found from sums of single precision, is close enough to be told from others if
    // it is about as large as this.
    bool is_reliable(std::size_t block, double gain) const;

    // Findings: all candidates of a block whose quality is no worse than `limit`.
    void walk(std::size_t block, const RankedExamples& covered, const Settings& settings, double noise, double limit,
              std::size_t least_coverage, std::vector<RankFinding>& findings) const;

    // Makes the qualities of candidates exact, and puts them in the order of their slots. Examples are put in order where
    // there are candidates only. some: memory for numbers of examples.
    void settle(const RankedExamples& covered, const Settings& settings, double noise, std::span<RankFinding> findings,
                std::vector<std::int32_t>& some, Interrupt& interrupt) const;

private:
    static std::size_t most_blocks(std::size_t covered);
    // The sums of all blocks before one, or behind one.
    struct Sums {
        AlignedVector positive, negative, hessian;
        std::size_t count = 0;
    };
    void list_ranks(const RankedExamples& covered, std::int32_t first, std::int32_t behind,
                    std::vector<std::int32_t>& out) const;
    void add_block(std::size_t block, Sums& sums) const;
    double rounding() const;
    double gained_at_least(const Sums& sums, const Settings& settings, double noise) const;
    struct Bound {
        double most, off;
    };
    Bound bound(const Sums& sums, std::size_t block, const Settings& settings) const;

    const Column* column_ = nullptr;
    std::size_t labels_ = 0;
    RankHistogram histogram_;
    std::vector<Sums> before_, behind_;  // by block
    std::vector<Bound> bounds_;          // by block
};

}  // namespace labelboost
