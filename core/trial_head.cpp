#include "trial_head.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace labelboost {

TrialHead::TrialHead(const Form& form, const Settings& settings)
    : system_(form, settings),
      labels_(form.labels),
      l2_(settings.l2),
      exact_(settings.bins.exact),
      slack_(form.labels),
      scores_(form.labels),
      pulls_(form.labels),
      numbers_(padded_size(form.labels), -1.0),
      spread_(padded_size(form.labels), 0.0),
      products_(padded_size(form.labels), 0.0),
      lanes_(kLanes * form.labels) {}

void TrialHead::start(const double* profile, double noise, const double* expected) {
    noise_ = noise;
    const std::size_t bins = system_.start_system(profile, noise);
    std::fill_n(slack_.begin(), bins, 0.0);
    system_.add_over_bins(profile + ProfileLayout(labels_).slack(), slack_.data());
    std::fill_n(pulls_.begin(), bins, 0.0);
    if (expected != nullptr) system_.add_over_bins(expected, pulls_.data());
    for (std::size_t b = 0; b < bins; ++b) {
        const double size = system_.bin_size(b);
        slack_[b] = std::max(slack_[b] - noise * size, 0.0) + l2_ * size;
        scores_[b] = (pulls_[b] - system_.gradient(b)) / std::max(system_.matrix(b, b), slack_[b]);
    }
    for (std::size_t k = 0; k < labels_; ++k) {
        const std::int32_t b = system_.bin(k);
        numbers_[k] = b;
        spread_[k] = b < 0 ? 0.0 : scores_[static_cast<std::size_t>(b)];
    }
    std::fill_n(pulls_.begin(), bins, 0.0);
    std::fill_n(lanes_.begin(), kLanes * bins, 0.0);
}

void TrialHead::multiply_region(const double* sums) {
    active_kernels().multiply_gram(sums, nullptr, labels_, numbers_.data(), exact_, spread_.data(), products_.data());
    system_.add_over_bins(products_.data(), pulls_.data());
}

void TrialHead::multiply_examples(const Gradients& gradients, std::span<const double> weights,
                                  std::span<const std::int32_t> examples, double factor) {
    const std::size_t bins = system_.unknowns();
    scratch_.resize(binned_products_scratch_size(labels_, bins));
    for_each_batch(gradients, weights, examples,
                   [&](const double* const* rows, const double* row_weights, const double*, std::size_t count) {
                       active_kernels().add_binned_products(rows, row_weights, count, labels_, system_.order(),
                                                            system_.first(), bins, exact_, scores_.data(), factor,
                                                            scratch_.data(), lanes_.data());
                   });
}

GainBounds TrialHead::bounds() {
    const std::size_t bins = system_.unknowns();
    double linear = 0.0, quadratic = 0.0, size = 0.0;
    bool regular = true;
    for (std::size_t b = 0; b < bins; ++b) {
        const double* const lanes = lanes_.data() + kLanes * b;
        const double diagonal = system_.matrix(b, b);
        pulls_[b] = diagonal * scores_[b] - std::accumulate(lanes, lanes + kLanes, pulls_[b]);  // the whole system's now
        linear -= system_.gradient(b) * scores_[b];
        quadratic += scores_[b] * pulls_[b];
        size += system_.bin_size(b) * std::abs(scores_[b]);
        regular = regular && slack_[b] > 2.0 * std::max(kSingular * diagonal, noise_);
    }
    const double stretch = quadratic > 0.0 ? linear / quadratic : 0.0;
    size *= std::abs(stretch);
    double rest = 0.0;
    for (std::size_t b = 0; b < bins; ++b) {
        const double unsure = noise_ * system_.bin_size(b) * (1.0 + size);
        const double residual = std::abs(system_.gradient(b) + stretch * pulls_[b]) + unsure;
        rest += residual * residual / slack_[b];
    }
    for (double& product : products_) product *= stretch;
    const double gain = stretch * (linear - 0.5 * stretch * quadratic);
    const double unsure = noise_ * size * (1.0 + size);
    return {regular ? gain - unsure : 0.0, gain + unsure + 0.5 * rest, gain};
}

}  // namespace labelboost
