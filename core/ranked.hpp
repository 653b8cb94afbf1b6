// Histograms over the ranks of features, or over blocks of ranks: examples are read in the order in which they lie in memory,
// whatever their ranks, and added up for several features at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns.hpp"
#include "tiles.hpp"

namespace labelboost {

// The sums of all blocks of ranks of a feature. Rows have a 1 somewhere, which counts examples.
class RankHistogram {
public:
    // The feature must have the rank of every example. size: of a row; count_place: where it counts; shift: a block has
    // 2^shift ranks.
    void start(const Column& column, std::size_t size, std::size_t count_place, int shift);

    // For the kernel: one tile of all sums, from the first block on, and how far its rows are apart.
    static constexpr std::size_t kTileWidth = 64;
    float* tile(std::size_t t) { return sums_.tile(t) + sums_.pitch(); }
    std::size_t pitch() const { return sums_.pitch(); }
    const std::int32_t* ranks() const { return column_->rank_of.data(); }
    int shift() const { return shift_; }
    // Goes on in double precision with what was added so far.
    void settle();

    // Numbers of examples by block, as far as they were settled; the last one counts those without a value.
    const std::vector<std::uint32_t>& counts() const { return counts_; }
    std::size_t blocks() const { return counts_.size() - 1; }
    // A number of the row of a block, or of what has no value.
    double number(std::size_t block, std::size_t place) const { return sums_.exact_number(1 + block, place); }
    double missing_number(std::size_t place) const { return sums_.exact_number(0, place); }
    // The most examples of a block between two settlements: so often sums were rounded to single precision.
    std::uint32_t longest() const { return longest_; }

private:
    const Column* column_ = nullptr;
    std::size_t count_place_ = 0;
    int shift_ = 0;
    std::vector<std::uint32_t> counts_;
    std::uint32_t longest_ = 0;
    TiledHistogram sums_;  // what has no value comes first
};

// One per thread. Rows are made for a few examples at a time, which stay in the nearest cache. Each thread makes all of them
// for its own features: to hand them from one to the other would take longer.
class RankAdder {
public:
    // pack(task, rows): makes rows, of `size` numbers each. So many examples, or a few more, are added between two
    // settlements: `period`.
    template <typename Pack>
    void add_up(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
                std::size_t labels, std::size_t size, std::size_t period, std::span<RankHistogram* const> histograms,
                Interrupt& interrupt, const Pack& pack) {
        begin(size, histograms);
        std::size_t open = 0;
        for (std::size_t first = 0; first < examples.size(); first += kRows) {
            const std::span<const std::int32_t> some = examples.subspan(first, std::min(kRows, examples.size() - first));
            const PackTask task = batch_.gather(gradients, weights, examples, first, first + some.size(), labels);
            pack(task, rows_.data());
            add_rows(task, size, histograms);
            interrupt.check();
            open += some.size();
            if (open < period && first + kRows < examples.size()) continue;
            open = 0;
            for (RankHistogram* const histogram : histograms) histogram->settle();
        }
    }

private:
    static constexpr std::size_t kRows = 64;  // that are made at a time

    void begin(std::size_t size, std::span<RankHistogram* const> histograms);
    void add_rows(const PackTask& source, std::size_t size, std::span<RankHistogram* const> histograms);

    PackBatch batch_;
    FloatVector rows_;
    std::vector<float*> tiles_;
    std::vector<const std::int32_t*> ranks_;
    std::vector<int> shifts_;
};

}  // namespace labelboost
