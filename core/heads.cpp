#include "heads.hpp"

#include <algorithm>
#include <cmath>

namespace labelboost {
namespace {

// A system (A | -g) in the layout of the `factorise` kernel, and its solution.
class DenseSystem {
public:
    explicit DenseSystem(std::size_t n) : n_(n), stride_(system_stride(n)), values_(n * stride_, 0.0) {}
    double* data() { return values_.data(); }
    double& at(std::size_t i, std::size_t j) { return values_[i * stride_ + j]; }
    double& right_hand_side(std::size_t i) { return values_[i * stride_ + n_]; }

    std::vector<double> solve(double noise, Interrupt& interrupt, double& quality) {
        quality = factorise_system(values_.data(), stride_, n_, noise, interrupt);
        // In this order, and not by the kernel that searches use: so that training goes on from files of former versions
        // with the same heads in every bit.
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

std::vector<double> unbinned_diagonal_head(const double* sums, std::size_t labels, double l2, double noise,
                                           double& quality) {
    const DiagonalLayout layout(labels);
    std::vector<double> head(labels, 0.0);
    quality = 0.0;
    for (std::size_t k = 0; k < labels; ++k) {
        const double gradient = sums[layout.gradient() + k];
        head[k] = single_score(gradient, sums[layout.hessian() + k], l2, noise);
        quality += 0.5 * head[k] * gradient;
    }
    return head;
}

}  // namespace

void fill_joint_system(const double* sums, std::size_t labels, double l2, double* system) {
    const JointLayout layout(labels);
    const std::size_t stride = system_stride(labels);
    for (std::size_t i = 0; i < labels; ++i) {
        double* target = system + i * stride;
        const double* row = sums + layout.diagonal(i);
        for (std::size_t j = i; j < labels; ++j) target[j] = -row[j - i];
        target[i] += sums[layout.additive() + i] + l2;
        target[labels] = -sums[layout.gradient() + i];
        for (std::size_t j = labels + 1; j < stride; ++j) target[j] = 0.0;
    }
}

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

void LabelOrder::set(const std::vector<std::int32_t>& bin, const std::vector<std::int32_t>& bin_size, std::size_t labels,
                     std::size_t bins) {
    first.resize(bins + 1);
    std::int32_t mapped = 0;
    for (std::size_t b = 0; b < bins; ++b) first[b] = mapped += bin_size[b];
    first[bins] = mapped;
    // Filled from the back: in the end the numbers in `first` are those of the first labels, not of the last ones.
    order.resize(labels);
    for (std::size_t k = 0; k < labels; ++k) {
        if (bin[k] < 0) continue;
        order[static_cast<std::size_t>(--first[static_cast<std::size_t>(bin[k])])] = static_cast<std::int32_t>(k);
    }
}

BinnedSystem::BinnedSystem(const Form& form, const Settings& settings)
    : form_(form),
      l2_(settings.l2),
      settings_(settings.bins),
      bin_(padded_size(form.labels)),
      bin_size_(form.labels),
      of_bins_(form.labels),
      gradient_(padded_size(form.labels), 0.0),
      additive_(padded_size(form.labels), 0.0),
      hessian_(padded_size(form.labels), 0.0),
      criterion_(padded_size(form.labels), 0.0),
      numbers_(padded_size(form.labels), -1.0) {}

// By the labels' gradients and second derivatives, without the L2 term, in `gradient_` and `hessian_`.
void BinnedSystem::map_labels(double noise) {
    bins_ = static_cast<std::size_t>(active_kernels().map_to_bins(gradient_.data(), hessian_.data(), form_.labels, l2_,
                                                                  noise, settings_, bin_.data(), bin_size_.data(),
                                                                  criterion_.data()));
    matrix_.assign(bins_ * bins_, 0.0);
    std::fill_n(of_bins_.begin(), bins_, 0.0);
    scatter(gradient_.data(), of_bins_.data(), 1);
}

// Not bin by bin: the processor would rarely guess where the next one begins. Two sums stay in registers, as in memory each
// would wait for itself.
void BinnedSystem::scatter(const double* values, double* sums, std::size_t step) const {
    if (bins_ != 2) {
        for (std::size_t k = 0; k < form_.labels; ++k) {
            if (bin_[k] >= 0) sums[static_cast<std::size_t>(bin_[k]) * step] += values[k];
        }
        return;
    }
    double first = sums[0], second = sums[step];
    for (std::size_t k = 0; k < form_.labels; ++k) {
        first += bin_[k] == 0 ? values[k] : 0.0;
        second += bin_[k] == 1 ? values[k] : 0.0;
    }
    sums[0] = first;
    sums[step] = second;
}

std::size_t BinnedSystem::form_system(const double* whole, const double* part, double noise) {
    const auto take = [&](std::size_t place, AlignedVector& out) {
        if (part != nullptr) {
            active_kernels().subtract(out.data(), whole + place, part + place, out.size());
        } else {
            std::copy_n(whole + place, out.size(), out.begin());
        }
    };
    if (!form_.joint) {
        const DiagonalLayout layout(form_.labels);
        take(layout.gradient(), gradient_);
        take(layout.hessian(), hessian_);
        map_labels(noise);
        for (double& own : hessian_) own = std::max(own, 0.0);
        add_to_diagonal(hessian_.data());
        add_l2();
        return bins_;
    }
    const JointLayout layout(form_.labels);
    take(layout.gradient(), gradient_);
    take(layout.additive(), additive_);
    for (std::size_t block = 0; block < layout.padded / kLanes; ++block) {
        const std::size_t step = layout.block_width(block) + 1;  // from an element of the diagonal to the next
        std::size_t place = layout.row(kLanes * block);
        for (std::size_t k = kLanes * block; k < kLanes * (block + 1); ++k, place += step) {
            hessian_[k] = additive_[k] - (part != nullptr ? whole[place] - part[place] : whole[place]);
        }
    }
    map_labels(noise);
    if (!in_pairs()) order_.set(bin_, bin_size_, form_.labels, bins_);
    aggregate(whole, part, matrix_.data());
    add_to_diagonal(settings_.exact ? additive_.data() : hessian_.data());
    add_l2();
    return bins_;
}

void BinnedSystem::add_l2() {
    for (std::size_t b = 0; b < bins_; ++b) matrix_[b * (bins_ + 1)] += l2_ * bin_size_[b];
}

void BinnedSystem::aggregate(const double* whole, const double* part, double* matrix) {
    const std::size_t needed = std::max(aggregate_scratch_size(form_.labels, bins_), 3 * padded_size(form_.labels));
    if (rows_.size() < needed) rows_.resize(needed);
    if (in_pairs()) {
        std::fill_n(matrix, bins_ * bins_, 0.0);
        if (bins_ < 2) return;
        std::copy_n(bin_.begin(), form_.labels, numbers_.begin());
        matrix[1] = -active_kernels().sum_of_pairs(whole, part, form_.labels, numbers_.data(), rows_.data());
        return;
    }
    active_kernels().aggregate_gram(whole, part, form_.labels, order_.order.data(), order_.first.data(), bins_,
                                    settings_.exact, rows_.data(), matrix);
}

std::size_t BinnedSystem::start_system(const double* profile, double noise) {
    const ProfileLayout layout(form_.labels);
    const double* additive = profile + layout.additive();
    for (std::size_t k = 0; k < form_.labels; ++k) {
        gradient_[k] = profile[layout.gradient() + k];
        hessian_[k] = additive[k] - profile[layout.product() + k];
    }
    map_labels(noise);
    order_.set(bin_, bin_size_, form_.labels, bins_);
    add_l2();
    add_to_diagonal(settings_.exact ? additive : hessian_.data());
    return bins_;
}

void BinnedSystem::add_larger_region(const double* sums) {
    larger_.resize(bins_ * bins_);
    aggregate(sums, nullptr, larger_.data());
    add_products(larger_.data(), bins_);
}

void BinnedSystem::sum_products(const Gradients& gradients, std::span<const double> weights,
                                std::span<const std::int32_t> examples, double factor, double* products) const {
    AlignedVector scratch(binned_gram_scratch_size(form_.labels, bins_));
    for_each_batch(gradients, weights, examples,
                   [&](const double* const* rows, const double* row_weights, const double*, std::size_t count) {
                       active_kernels().add_binned_gram(rows, row_weights, count, form_.labels, order_.order.data(),
                                                        order_.first.data(), bins_, factor, scratch.data(), products);
                   });
}

void BinnedSystem::add_products(const double* products, std::size_t stride) {
    for (std::size_t b = 0; b < bins_; ++b) {
        for (std::size_t q = settings_.exact ? b : b + 1; q < bins_; ++q) matrix_[b * bins_ + q] += products[b * stride + q];
    }
}

namespace {

std::vector<double> solve_binned(const BinnedSystem& binned, std::size_t labels, double noise, Interrupt& interrupt,
                                 double& quality) {
    const std::size_t bins = binned.unknowns();
    DenseSystem system(bins);
    for (std::size_t b = 0; b < bins; ++b) {
        for (std::size_t q = b; q < bins; ++q) system.at(b, q) = binned.matrix(b, q);
        system.right_hand_side(b) = -binned.gradient(b);
    }
    const std::vector<double> scores = system.solve(noise, interrupt, quality);
    std::vector<double> head(labels, 0.0);
    for (std::size_t k = 0; k < labels; ++k) {
        if (binned.bin(k) >= 0) head[k] = scores[static_cast<std::size_t>(binned.bin(k))];
    }
    return head;
}

// In two looks at the examples, K numbers each, instead of one at K^2 / 2: the first one tells the bins.
void form_joint_bins(BinnedSystem& binned, const Gradients& gradients, std::span<const double> weights,
                     std::span<const std::int32_t> examples, std::size_t labels, double noise, ThreadPool& pool,
                     Interrupt& interrupt) {
    const AlignedVector profile = sum_profile(gradients, weights, examples, labels, pool, interrupt);
    const std::size_t bins = binned.start_system(profile.data(), noise);
    const AlignedVector products = sum_in_parts(
        examples, bins * padded_size(bins), pool, interrupt, [&](std::span<const std::int32_t> part, double* sums) {
            binned.sum_products(gradients, weights, part, -1.0, sums);
        });
    binned.add_products(products.data(), padded_size(bins));
}

}  // namespace

std::vector<double> complete_head(const Form& form, const Gradients& gradients, std::span<const double> weights,
                                  std::span<const std::int32_t> examples, const Settings& settings, BinnedSystem& binned,
                                  double noise, ThreadPool& pool, Interrupt& interrupt, double* quality) {
    double unwanted = 0.0;
    double& found = quality != nullptr ? *quality : unwanted;
    if (settings.use_bins && form.joint && form.sets == nullptr) {
        form_joint_bins(binned, gradients, weights, examples, form.labels, noise, pool, interrupt);
        return solve_binned(binned, form.labels, noise, interrupt, found);
    }
    AlignedVector sums = sum_examples(form, gradients, weights, examples, pool, interrupt);
    if (form.sets != nullptr) {
        const AlignedVector of_sets = std::move(sums);
        sums.resize(form.of_systems().size());
        form.sets->to_joint(of_sets.data(), sums.data());
    }
    if (settings.use_bins) {
        binned.form_system(sums.data(), nullptr, noise);
        return solve_binned(binned, form.labels, noise, interrupt, found);
    }
    if (!form.joint) return unbinned_diagonal_head(sums.data(), form.labels, settings.l2, noise, found);
    DenseSystem system(form.labels);
    fill_joint_system(sums.data(), form.labels, settings.l2, system.data());
    return system.solve(noise, interrupt, found);
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
