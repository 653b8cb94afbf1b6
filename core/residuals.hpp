// Bounds on the candidates of features with few values, or bins of them, from histograms of residuals at the head of all
// that is covered (kernels/residuals.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "columns.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "tiles.hpp"

namespace labelboost {

// What the bounds of all candidates of a search have in common. Shared by all threads.
class ResidualBounds {
public:
    ResidualBounds(const Form& form, const Settings& settings) : form_(form), settings_(settings) {}

    // total: the sums of everything covered, which must stay as they are; head: null for one of zeros.
    void start(const double* head, const AlignedVector& total, double noise);

    // Padded to 16, in single precision.
    const FloatVector& rounded_head() const { return rounded_head_; }
    // Of a part with these sums, or of everything but that; rounding: how far these sums may be off, relatively.
    GainBounds part_bounds(const AlignedVector& part, double rounding) const {
        return bounds(part.data(), nullptr, rounding);
    }
    GainBounds rest_bounds(const AlignedVector& removed, double rounding) const {
        return bounds(whole_.data(), removed.data(), rounding);
    }

private:
    GainBounds bounds(const double* whole, const double* part, double rounding) const {
        return active_kernels().bound_residual(whole, part, additive_, form_.labels, head_.data(),
                                               settings_.binned_candidates(), settings_.l2, noise_, rounding);
    }

    Form form_;
    const Settings& settings_;
    double noise_ = 0.0;
    const double* additive_ = nullptr;
    AlignedVector head_, whole_;
    FloatVector rounded_head_;
};

// The sums of all ranks of a feature with few of them.
class ResidualHistogram {
public:
    // The feature must have the rank of every example.
    void start(const Column& column, std::size_t labels);
    // For the kernel: one tile of all sums, and how far its rows are apart.
    static constexpr std::size_t kTileWidth = 64;
    float* tile(std::size_t t) { return sums_.tile(t) + sums_.pitch(); }
    std::size_t pitch() const { return sums_.pitch(); }
    const std::int32_t* ranks() const { return column_->rank_of.data(); }
    // Goes on in double precision with what was added so far.
    void settle();

    // Numbers of examples by rank, as far as they were settled; the last one counts those without a value.
    const std::vector<std::uint32_t>& counts() const { return counts_; }
    // sums += those of a rank, or of what has no value.
    void add_to(std::size_t rank, AlignedVector& sums) const { add_row(1 + rank, sums); }
    void add_missing_to(AlignedVector& sums) const { add_row(0, sums); }
    // How far sums may be off, relatively: half a unit in the last place with each addition, and a few for each row,
    // which holds sums over the labels, sixteen of them at a time.
    double rounding() const { return static_cast<double>(longest_ + layout_.labels / 16 + 24) / (1U << 24); }

private:
    void add_row(std::size_t row, AlignedVector& sums) const;

    const Column* column_ = nullptr;
    std::vector<std::uint32_t> counts_;
    std::uint32_t longest_ = 0;  // the most examples of a rank between two settlements
    ResidualLayout layout_{0};
    TiledHistogram sums_;  // what has no value comes first
};

// One per thread: adds up the examples by their ranks, in the order in which they lie in memory, for several features at
// once. Rows are made for a few examples at a time, which stay in the nearest cache. Each thread makes all of them for
// its own features: to hand them from one to the other would take longer.
class ResidualAdder {
public:
    void add_up(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
                std::size_t labels, const ResidualBounds& bounds, std::span<ResidualHistogram* const> histograms,
                Interrupt& interrupt);

private:
    PackBatch batch_;
    FloatVector rows_;
};

}  // namespace labelboost
