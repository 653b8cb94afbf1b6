#include "heads.hpp"

#include <algorithm>
#include <cmath>

namespace labelboost {
namespace {

// A system (A | -g) in the layout of the `factorise` kernel, and its solution.
class DenseSystem {
public:
    explicit DenseSystem(std::size_t n) : n_(n), stride_(padded_size(n + 1)), values_(n * stride_, 0.0) {}
    double& at(std::size_t i, std::size_t j) { return values_[i * stride_ + j]; }
    double& right_hand_side(std::size_t i) { return values_[i * stride_ + n_]; }

    std::vector<double> solve(double noise, Interrupt& interrupt) {
        factorise_system(values_.data(), stride_, n_, noise, interrupt);
        std::vector<double> solution(n_, 0.0);
        for (std::size_t i = n_; i-- > 0;) {
            if (at(i, i) == 0.0) continue;  // a dropped unknown
            double rest = right_hand_side(i);
            for (std::size_t j = i + 1; j < n_; ++j) rest -= at(i, j) * solution[j];
            solution[i] = rest / at(i, i);
        }
        return solution;
    }

private:
    std::size_t n_, stride_;
    AlignedVector values_;
};

std::vector<double> unbinned_joint_head(const double* sums, std::size_t labels, double l2, double noise,
                                        Interrupt& interrupt) {
    const JointLayout layout(labels);
    DenseSystem system(labels);
    for (std::size_t i = 0; i < labels; ++i) {
        const double* row = sums + layout.diagonal(i);
        for (std::size_t j = i; j < labels; ++j) system.at(i, j) = -row[j - i];
        system.at(i, i) += sums[layout.additive() + i] + l2;
        system.right_hand_side(i) = -sums[layout.gradient() + i];
    }
    return system.solve(noise, interrupt);
}

std::vector<double> unbinned_diagonal_head(const double* sums, std::size_t labels, double l2, double noise) {
    const DiagonalLayout layout(labels);
    std::vector<double> head(labels, 0.0);
    for (std::size_t k = 0; k < labels; ++k) {
        head[k] = single_score(sums[layout.gradient() + k], sums[layout.hessian() + k], l2, noise);
    }
    return head;
}

}  // namespace

double factorise_system(double* system, std::size_t stride, std::size_t n, double noise, Interrupt& interrupt) {
    // So many rows that the user is listened to several times per second even if there are thousands.
    constexpr std::size_t kRows = 64;
    double quality = 0.0;
    for (std::size_t begin = 0; begin < n; begin += kRows) {
        if (begin > 0) interrupt.check();
        quality += active_kernels().factorise(system, stride, n, noise, begin, std::min(n, begin + kRows));
    }
    return quality;
}

BinnedSystem::BinnedSystem(const Form& form, const Settings& settings)
    : form_(form),
      l2_(settings.l2),
      settings_(settings.bins),
      bin_(form.labels),
      bin_size_(form.labels),
      criterion_(form.labels),
      hessian_(form.labels),
      gradient_(form.labels) {}

std::size_t BinnedSystem::form_system(const double* sums, double noise) {
    const Kernels& kernels = active_kernels();
    const double* gradient = sums;  // first in both layouts
    const double* hessian = sums + DiagonalLayout(form_.labels).hessian();
    if (form_.joint) {
        const JointLayout layout(form_.labels);
        for (std::size_t k = 0; k < form_.labels; ++k) {
            hessian_[k] = sums[layout.additive() + k] - sums[layout.diagonal(k)];
        }
        hessian = hessian_.data();
    }
    bins_ = static_cast<std::size_t>(kernels.map_to_bins(gradient, hessian, form_.labels, l2_, noise, settings_,
                                                         bin_.data(), bin_size_.data(), criterion_.data()));
    matrix_.assign(bins_ * bins_, 0.0);
    std::fill_n(gradient_.begin(), bins_, 0.0);
    if (form_.joint) {
        const std::size_t needed = bins_ * padded_size(form_.labels);
        if (rows_.size() < needed) rows_.resize(needed);
        kernels.aggregate_joint(sums, form_.labels, bin_.data(), bins_, settings_.exact, rows_.data(), matrix_.data());
    }
    for (std::size_t k = 0; k < form_.labels; ++k) {
        if (bin_[k] < 0) continue;
        const auto b = static_cast<std::size_t>(bin_[k]);
        gradient_[b] += gradient[k];
        if (!form_.joint) matrix_[b * (bins_ + 1)] += std::max(hessian[k], 0.0);
    }
    for (std::size_t b = 0; b < bins_; ++b) matrix_[b * (bins_ + 1)] += l2_ * bin_size_[b];
    return bins_;
}

std::vector<double> complete_head(const Form& form, const double* sums, const Settings& settings, double noise,
                                  Interrupt& interrupt) {
    if (!settings.use_bins) {
        return form.joint ? unbinned_joint_head(sums, form.labels, settings.l2, noise, interrupt)
                          : unbinned_diagonal_head(sums, form.labels, settings.l2, noise);
    }
    BinnedSystem binned(form, settings);
    const std::size_t bins = binned.form_system(sums, noise);
    DenseSystem system(bins);
    for (std::size_t b = 0; b < bins; ++b) {
        for (std::size_t q = b; q < bins; ++q) system.at(b, q) = binned.matrix(b, q);
        system.right_hand_side(b) = -binned.gradient(b);
    }
    const std::vector<double> scores = system.solve(noise, interrupt);
    std::vector<double> head(form.labels, 0.0);
    for (std::size_t k = 0; k < form.labels; ++k) {
        if (binned.bin(k) >= 0) head[k] = scores[static_cast<std::size_t>(binned.bin(k))];
    }
    return head;
}

std::size_t best_label(const double* sums, std::size_t labels, double l2, double noise) {
    const DiagonalLayout layout(labels);
    const auto gain = [&](std::size_t k) {
        const double a = std::max(sums[layout.hessian() + k], 0.0) + l2;
        const double g = sums[layout.gradient() + k];
        return a > noise ? 0.5 * g * g / a : 0.0;
    };
    double best = 0.0;
    for (std::size_t k = 0; k < labels; ++k) best = std::max(best, gain(k));
    std::size_t label = 0;
    while (gain(label) < best - kTie * best) ++label;
    return label;
}

double single_score(double gradient, double hessian, double l2, double noise) {
    const double a = std::max(hessian, 0.0) + l2;
    return a > noise ? -gradient / a : 0.0;
}

}  // namespace labelboost
