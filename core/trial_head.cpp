#include "trial_head.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace labelboost {
namespace {

// Vectors over the labels that are added up over the bins, and their places among the sums.
constexpr std::size_t kGradient = 0, kDiagonal = 1, kSlack = 2, kExpected = 3, kKinds = 4;

}  // namespace

TrialHead::TrialHead(const Form& form, const Settings& settings)
    : labels_(form.labels),
      l2_(settings.l2),
      settings_(settings.bins),
      bin_(padded_size(form.labels)),
      bin_size_(form.labels),
      hessian_(padded_size(form.labels), 0.0),
      criterion_(padded_size(form.labels)),
      numbers_(padded_size(form.labels), -1.0),
      spread_(padded_size(form.labels), 0.0),
      products_(padded_size(form.labels), 0.0),
      sums_(kKinds * form.labels),
      slack_(form.labels),
      scores_(form.labels),
      pulls_(form.labels),
      lanes_(kLanes * form.labels),
      scratch_(std::max(binned_products_scratch_size(form.labels, form.labels), 3 * padded_size(form.labels))) {}

void TrialHead::start(const double* profile, double noise, const double* expected) {
    const ProfileLayout layout(labels_);
    const Kernels& kernels = active_kernels();
    const double* const gradient = profile + layout.gradient();
    const double* const additive = profile + layout.additive();
    noise_ = noise;
    kernels.subtract(hessian_.data(), additive, profile + layout.product(), layout.padded);
    bins_ = static_cast<std::size_t>(kernels.map_to_bins(gradient, hessian_.data(), labels_, l2_, noise, settings_,
                                                         bin_.data(), bin_size_.data(), criterion_.data()));
    in_pairs_ = bins_ <= 2 && !settings_.exact;
    for (std::size_t k = 0; k < labels_; ++k) numbers_[k] = bin_[k];
    if (bins_ > kFewBins) order_.set(bin_, bin_size_, labels_, bins_);
    const double* const vectors[kKinds] = {gradient, settings_.exact ? additive : hessian_.data(),
                                           profile + layout.slack(), expected};
    const bool pulled = expected != nullptr && !in_pairs_;
    kernels.sum_over_bins(vectors, pulled ? kKinds : kKinds - 1, labels_, bin_.data(), numbers_.data(), bins_,
                          sums_.data());
    const double* const diagonal = sums_.data() + kDiagonal * bins_;
    for (std::size_t b = 0; b < bins_; ++b) {
        const double size = bin_size_[b];
        slack_[b] = std::max(sums_[kSlack * bins_ + b] - noise * size, 0.0) + l2_ * size;
        const double pull = pulled ? sums_[kExpected * bins_ + b] : 0.0;
        // Pairs are found as the products of ones.
        scores_[b] = in_pairs_ ? 1.0 : (pull - sums_[b]) / std::max(diagonal[b] + l2_ * size, slack_[b]);
        pulls_[b] = 0.0;
    }
    std::fill_n(lanes_.begin(), kLanes * bins_, 0.0);
}

void TrialHead::multiply_region(const double* sums) {
    const Kernels& kernels = active_kernels();
    if (in_pairs_) {
        if (bins_ < 2) return;
        pulls_[0] = pulls_[1] = kernels.sum_of_pairs(sums, nullptr, labels_, numbers_.data(), scratch_.data());
        return;
    }
    for (std::size_t k = 0; k < labels_; ++k) spread_[k] = bin_[k] < 0 ? 0.0 : scores_[static_cast<std::size_t>(bin_[k])];
    kernels.multiply_gram(sums, labels_, numbers_.data(), settings_.exact, spread_.data(), products_.data());
    const double* const products[] = {products_.data()};
    kernels.sum_over_bins(products, 1, labels_, bin_.data(), numbers_.data(), bins_, pulls_.data());
}

void TrialHead::multiply_examples(const Gradients& gradients, std::span<const double> weights,
                                  std::span<const std::int32_t> examples, double factor) {
    for_each_batch(gradients, weights, examples,
                   [&](const double* const* rows, const double* row_weights, const double*, std::size_t count) {
                       active_kernels().add_binned_products(rows, row_weights, count, labels_, numbers_.data(),
                                                            order_.order.data(), order_.first.data(), bins_,
                                                            settings_.exact, scores_.data(), factor, scratch_.data(),
                                                            lanes_.data());
                   });
}

GainBounds TrialHead::bounds() {
    for (std::size_t b = 0; b < bins_; ++b) {
        const double* const lanes = lanes_.data() + kLanes * b;
        pulls_[b] = std::accumulate(lanes, lanes + kLanes, pulls_[b]);
    }
    if (in_pairs_) solve_pair();
    double linear = 0.0, quadratic = 0.0, size = 0.0;
    bool regular = true;
    for (std::size_t b = 0; b < bins_; ++b) {
        const double labels = bin_size_[b];
        const double diagonal = sums_[kDiagonal * bins_ + b] + l2_ * labels;
        pulls_[b] = diagonal * scores_[b] - pulls_[b];  // the product with the whole system now
        linear -= sums_[kGradient * bins_ + b] * scores_[b];
        quadratic += scores_[b] * pulls_[b];
        size += labels * std::abs(scores_[b]);
        regular = regular && keeps_pivot(slack_[b], diagonal, noise_);
    }
    const double stretch = quadratic > 0.0 ? linear / quadratic : 0.0;
    size *= std::abs(stretch);
    double rest = 0.0;
    for (std::size_t b = 0; b < bins_; ++b) {
        const double unsure = noise_ * bin_size_[b] * (1.0 + size);
        const double residual = std::abs(sums_[kGradient * bins_ + b] + stretch * pulls_[b]) + unsure;
        rest += residual * residual / slack_[b];
    }
    const double gain = stretch * (linear - 0.5 * stretch * quadratic);
    const double unsure = noise_ * size * (1.0 + size);
    return {regular ? gain - unsure : 0.0, gain + unsure + 0.5 * rest, gain};
}

// The best head of two bins, and its products.
void TrialHead::solve_pair() {
    const auto g = [&](std::size_t b) { return sums_[kGradient * bins_ + b]; };
    const auto d = [&](std::size_t b) { return std::max(sums_[kDiagonal * bins_ + b] + l2_ * bin_size_[b], slack_[b]); };
    if (bins_ == 1) {
        scores_[0] = -g(0) / d(0);
        pulls_[0] = 0.0;
        return;
    }
    if (bins_ < 2) return;
    const double pair = pulls_[0];
    const double determinant = d(0) * d(1) - pair * pair;
    const double coupling = determinant > 0.0 ? pair : 0.0;
    const double divisor = determinant > 0.0 ? determinant : d(0) * d(1);
    scores_[0] = -(g(0) * d(1) + g(1) * coupling) / divisor;
    scores_[1] = -(g(1) * d(0) + g(0) * coupling) / divisor;
    pulls_[0] = pair * scores_[1];
    pulls_[1] = pair * scores_[0];
}

}  // namespace labelboost
