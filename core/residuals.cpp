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

void ResidualBounds::add_up(const Gradients& gradients, const std::vector<double>& weights,
                            std::span<const std::int32_t> examples, std::span<RankHistogram* const> histograms,
                            RankAdder& adder, Interrupt& interrupt) const {
    constexpr std::size_t kPeriod = 1U << 15;
    adder.add_up(gradients, weights, examples, form_.labels, residual_row_size(form_.labels), kPeriod, histograms, interrupt,
                 [&](const PackTask& task, float* rows) {
                     active_kernels().pack_residuals(task, rounded_head_.data(), rows);
                 });
}

template <typename Number>
void ResidualBounds::add_row(const Number& number, AlignedVector& sums) const {
    const ResidualLayout layout(form_.labels);
    for (std::size_t k = 0; k < form_.labels; ++k) {
        sums[layout.residual() + k] += number(k);
        sums[layout.slack() + k] += number(form_.labels + k);
    }
    sums[layout.along()] += number(2 * form_.labels);
    sums[layout.mass()] += number(2 * form_.labels + 1);
}

void ResidualBounds::add_rank(const RankHistogram& histogram, std::size_t rank, AlignedVector& sums) const {
    add_row([&](std::size_t place) { return histogram.number(rank, place); }, sums);
}

void ResidualBounds::add_missing(const RankHistogram& histogram, AlignedVector& sums) const {
    add_row([&](std::size_t place) { return histogram.missing_number(place); }, sums);
}

}  // namespace labelboost
