#include "residuals.hpp"

#include <algorithm>

namespace labelboost {

void ResidualBounds::start(const double* head, const AlignedVector& total, double noise) {
    const JointLayout joint(form_.labels);
    const ResidualLayout layout(form_.labels);
    const Kernels& kernels = active_kernels();
    noise_ = noise;
    additive_ = total.data() + joint.additive();
    head_.assign(layout.padded, 0.0);
    if (head != nullptr) std::copy_n(head, form_.labels, head_.begin());
    rounded_head_.assign(padded_floats(form_.labels), 0.0f);
    for (std::size_t k = 0; k < form_.labels; ++k) rounded_head_[k] = static_cast<float>(head_[k]);
    const AlignedVector no_bins(layout.padded, 0.0);
    AlignedVector product(layout.padded);  // the Gram matrix times the head
    kernels.multiply_gram(total.data(), form_.labels, no_bins.data(), true, head_.data(), product.data());
    whole_.assign(layout.size(), 0.0);
    std::copy_n(total.data() + joint.slack(), layout.padded, whole_.data() + layout.slack());
    for (std::size_t k = 0; k < form_.labels; ++k) {
        const double gradient = total[joint.gradient() + k];
        whole_[layout.residual() + k] = product[k] - additive_[k] * head_[k] - gradient;
        whole_[layout.along()] += gradient * head_[k];
        whole_[layout.mass()] += additive_[k];
    }
}

void ResidualRows::fill(const Gradients& gradients, const std::vector<double>& weights,
                        std::span<const std::int32_t> examples, const ResidualBounds& bounds, ThreadPool& pool,
                        Interrupt& interrupt) {
    batches_.resize(pool.size());
    TiledRows::fill(examples.size(), pool, interrupt,
                    [&](std::size_t begin, std::size_t end, std::size_t thread, float* rows) {
                        PackBatch& batch = batches_[thread];
                        const PackTask task = batch.gather(gradients, weights, examples, begin, end, labels_);
                        active_kernels().pack_residuals(task, bounds.rounded_head().data(), rows);
                    });
}

void ResidualHistogram::start(const Column& column, std::size_t labels) {
    column_ = &column;
    layout_ = ResidualLayout(labels);
    counts_.assign(column.ranks() + 1, 0);
    in_period_.assign(column.ranks() + 1, 0);
    longest_ = 0;
}

void ResidualHistogram::find_places(std::span<const std::int32_t> examples) {
    const auto missing = static_cast<std::int32_t>(column_->ranks());
    const std::int32_t* const rank_of = column_->rank_of.data();
    const auto last = static_cast<std::int32_t>(column_->rank_of.size() - 1);
    // What the next examples will need: features take turns, so that nothing else would ask for it in time.
    constexpr auto kAhead = static_cast<std::int32_t>(2 * kChunk);
    place_.resize(examples.size());
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const std::int32_t rank = rank_of[examples[i]];
        __builtin_prefetch(rank_of + (examples[i] < last - kAhead ? examples[i] + kAhead : last));
        place_[i] = rank < 0 ? missing : rank;
        ++in_period_[static_cast<std::size_t>(place_[i])];
    }
}

void ResidualHistogram::settle() {
    sums_.settle();
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
        counts_[rank] += in_period_[rank];
        longest_ = std::max(longest_, in_period_[rank]);
        in_period_[rank] = 0;
    }
}

void ResidualHistogram::add_to(std::size_t rank, AlignedVector& sums) const {
    const double* const row = sums_.exact_row(rank);
    const std::size_t labels = layout_.labels;
    for (std::size_t k = 0; k < labels; ++k) {
        sums[layout_.residual() + k] += row[k];
        sums[layout_.slack() + k] += row[labels + k];
    }
    sums[layout_.along()] += row[2 * labels];
    sums[layout_.mass()] += row[2 * labels + 1];
}

}  // namespace labelboost
