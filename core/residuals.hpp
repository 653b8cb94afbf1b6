// Bounds on the candidates of features with few values, or bins of them, from histograms of residuals at the head of all
// that is covered (kernels/residuals.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "ranked.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// What the bounds of all candidates of a search have in common. Shared by all threads.
class ResidualBounds {
public:
    ResidualBounds(const Form& form, const Settings& settings) : form_(form), settings_(settings) {}

    // total: the sums of everything covered, which must stay as they are; head: null for one of zeros.
    void start(const double* head, const AlignedVector& total, double noise);

    // Adds up examples by the ranks of several features, as many sums as a row has.
    void add_up(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
                std::span<RankHistogram* const> histograms, RankAdder& adder, Interrupt& interrupt) const;
    void start(RankHistogram& histogram, const Column& column) const {
        histogram.start(column, residual_row_size(form_.labels), 2 * form_.labels + 2, 0);
    }
    std::size_t sums_size() const { return ResidualLayout(form_.labels).size(); }
    // sums += those of a rank, or of what has no value.
    void add_rank(const RankHistogram& histogram, std::size_t rank, AlignedVector& sums) const;
    void add_missing(const RankHistogram& histogram, AlignedVector& sums) const;
    // How far sums may be off, relatively: half a unit in the last place with each addition, and a few for each row,
    // which holds sums over the labels, sixteen of them at a time.
    double rounding(const RankHistogram& histogram) const {
        return static_cast<double>(histogram.longest() + form_.labels / 16 + 24) / (1U << 24);
    }
    // Of a part with these sums, or of everything but that; rounding: how far these sums may be off, relatively.
    GainBounds part_bounds(const AlignedVector& part, double rounding) const {
        return bounds(part.data(), nullptr, rounding);
    }
    GainBounds rest_bounds(const AlignedVector& removed, double rounding) const {
        return bounds(whole_.data(), removed.data(), rounding);
    }

private:
    template <typename Number>
    void add_row(const Number& number, AlignedVector& sums) const;
    GainBounds bounds(const double* whole, const double* part, double rounding) const {
        return active_kernels().bound_residual(whole, part, additive_, form_.labels, head_.data(),
                                               settings_.binned_candidates(), settings_.l2, noise_, rounding);
    }

    Form form_;
    const Settings& settings_;
    double noise_ = 0.0;
    const double* additive_ = nullptr;
    AlignedVector head_, whole_;
    FloatVector rounded_head_;  // padded to 16
};

}  // namespace labelboost
