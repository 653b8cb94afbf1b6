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

void ResidualHistogram::start(const Column& column, std::size_t labels) {
    column_ = &column;
    layout_ = ResidualLayout(labels);
    counts_.assign(column.ranks() + 1, 0);
    longest_ = 0;
    const std::size_t size = residual_row_size(labels);
    sums_.clear(size, column.ranks() + 1, std::min(size, kTileWidth));
}

void ResidualHistogram::settle() {
    const std::size_t place = 2 * layout_.labels + 2;
    for (std::size_t row = 0; row < counts_.size(); ++row) {
        const auto count = static_cast<std::uint32_t>(sums_.number(row, place));
        counts_[row > 0 ? row - 1 : counts_.size() - 1] += count;
        longest_ = std::max(longest_, count);
    }
    sums_.settle();
}

void ResidualHistogram::add_row(std::size_t row, AlignedVector& sums) const {
    const std::size_t labels = layout_.labels;
    const auto number = [&](std::size_t place) { return sums_.exact_number(row, place); };
    for (std::size_t k = 0; k < labels; ++k) {
        sums[layout_.residual() + k] += number(k);
        sums[layout_.slack() + k] += number(labels + k);
    }
    sums[layout_.along()] += number(2 * labels);
    sums[layout_.mass()] += number(2 * labels + 1);
}

void ResidualAdder::add_up(const Gradients& gradients, const std::vector<double>& weights,
                           std::span<const std::int32_t> examples, std::size_t labels, const ResidualBounds& bounds,
                           std::span<ResidualHistogram* const> histograms, Interrupt& interrupt) {
    // Rows that are made at a time; examples between two settlements; and how far ahead ranks are asked for, which are read
    // from many places in turn, so that nothing else would ask for them in time.
    constexpr std::size_t kRows = 64, kPeriod = 256 * kRows, kAhead = 1024;
    const Kernels& kernels = active_kernels();
    const std::size_t size = residual_row_size(labels), width = std::min(size, ResidualHistogram::kTileWidth);
    rows_.resize(kRows * size, 0.0f);
    std::vector<float*> tiles(histograms.size());
    std::vector<const std::int32_t*> ranks;
    for (const ResidualHistogram* const histogram : histograms) ranks.push_back(histogram->ranks());
    for (std::size_t first = 0; first < examples.size(); first += kRows) {
        const std::size_t count = std::min(kRows, examples.size() - first);
        const PackTask task = batch_.gather(gradients, weights, examples, first, first + count, labels);
        kernels.pack_residuals(task, bounds.rounded_head().data(), rows_.data());
        for (std::size_t c = 0; c < size; c += width) {
            for (std::size_t h = 0; h < histograms.size(); ++h) tiles[h] = histograms[h]->tile(c / width);
            const RankTargets targets{tiles.data(), ranks.data(), histograms.size(), examples.data() + first,
                                      histograms.front()->pitch()};
            kernels.add_ranked_rows(rows_.data() + c, count, std::min(width, size - c), size, targets, kAhead);
        }
        interrupt.check();
        if ((first + kRows) % kPeriod != 0 && first + kRows < examples.size()) continue;
        for (ResidualHistogram* const histogram : histograms) histogram->settle();
    }
}

}  // namespace labelboost
