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

// The residuals of some examples in single precision, as rows.
class ResidualRows : public TiledRows {
public:
    explicit ResidualRows(std::size_t labels)
        : TiledRows({residual_row_size(labels), residual_row_size(labels)}), labels_(labels) {}

    void fill(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
              const ResidualBounds& bounds, ThreadPool& pool, Interrupt& interrupt);

private:
    std::size_t labels_;
    std::vector<PackBatch> batches_;  // per thread
};

// The sums of all ranks of a feature with few of them: examples are read in the order in which they lie in memory,
// whatever their ranks.
class ResidualHistogram {
public:
    // So many examples are taken at a time, and are added up between two settlements.
    static constexpr std::size_t kChunk = 1024, kPeriod = 16 * kChunk;

    // The feature must have the rank of every example.
    void start(const Column& column, std::size_t labels);
    void clear() {
        const std::size_t size = residual_row_size(layout_.labels);
        sums_.clear(size, counts_.size(), size);
    }
    // Looks up the ranks of the next examples, whose rows are then added tile by tile.
    void find_places(std::span<const std::int32_t> examples);
    void add(const ResidualRows& rows, std::size_t tile) { sums_.add(rows, tile, place_.data(), nullptr, rows.rows()); }
    void settle();

    // Numbers of examples by rank, as far as they were settled; the last one counts those without a value.
    const std::vector<std::uint32_t>& counts() const { return counts_; }
    bool any_missing() const { return counts_.back() > 0; }
    // sums += those of a rank, or of what has no value.
    void add_to(std::size_t rank, AlignedVector& sums) const;
    void add_missing_to(AlignedVector& sums) const { add_to(counts_.size() - 1, sums); }
    // How far sums may be off, relatively: half a unit in the last place with each addition, and a few for each row,
    // which holds sums over the labels, sixteen of them at a time.
    double rounding() const { return static_cast<double>(longest_ + layout_.labels / 16 + 24) / (1U << 24); }

private:
    const Column* column_ = nullptr;
    std::vector<std::uint32_t> counts_, in_period_;
    std::uint32_t longest_ = 0;        // the most examples of a rank in a period
    std::vector<std::int32_t> place_;  // of the examples at hand
    ResidualLayout layout_{0};
    TiledHistogram sums_;
};

}  // namespace labelboost
