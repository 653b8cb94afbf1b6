#include "bounds.hpp"

#include <algorithm>
#include <cmath>

#include "heads.hpp"
#include "screening.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kFewestLabels = 16, kManyLabels = 33;
constexpr int kMostSteps = 12;

// As words have: most features can be cut in few places only.
bool mostly_few_values(const Columns& columns) {
    const auto few = std::count_if(columns.features.begin(), columns.features.end(), [](const Column& column) {
        return column.nominal || column.ranks() <= Screening::kFewestSplits;
    });
    return 2 * static_cast<std::size_t>(few) > columns.features.size();
}

}  // namespace

bool bounds_possible(const Settings& settings, std::size_t labels, const Columns& columns) {
    return !settings.trees && settings.joint() && settings.loss == Loss::example_logistic && settings.l2 > 0.0 &&
           (columns.any_binned() || labels >= (mostly_few_values(columns) ? kFewestLabels : kManyLabels));
}

bool bounds_pay(const Settings& settings, std::size_t labels, bool can_be_screened) {
    if (can_be_screened && settings.binned_candidates()) return false;
    return labels >= (can_be_screened ? kManyLabels : kFewestLabels);
}

bool Anchor::prepare(const AlignedVector& total, double noise, Interrupt& interrupt) {
    const JointLayout joint(form_.labels);
    const ProfileLayout layout(form_.labels);
    noise_ = noise;
    profile_.resize(layout.size());
    std::copy_n(total.data() + joint.gradient(), layout.padded, profile_.data() + layout.gradient());
    std::copy_n(total.data() + joint.additive(), layout.padded, profile_.data() + layout.additive());
    std::copy_n(total.data() + joint.slack(), layout.padded, profile_.data() + layout.slack());
    double* product = profile_.data() + layout.product();
    if (settings_.binned_candidates()) {
        for (std::size_t k = 0; k < form_.labels; ++k) product[k] = total[joint.diagonal(k)];
        trial_.start(profile_.data(), noise, nullptr);
        trial_.multiply_region(total.data());
        return true;
    }
    if (!solve_total(total, interrupt)) return false;
    for (std::size_t k = 0; k < layout.padded; ++k) {
        product[k] = -profile_[layout.gradient() + k] - settings_.l2 * head_[k];
    }
    return true;
}

bool Anchor::solve_total(const AlignedVector& total, Interrupt& interrupt) {
    const std::size_t labels = form_.labels;
    const std::size_t stride = system_stride(labels);
    system_.resize(labels * stride);
    head_.resize(padded_size(labels));
    fill_joint_system(total.data(), labels, settings_.l2, system_.data());
    quality_ = factorise_system(system_.data(), stride, labels, noise_, interrupt);
    inverse_diagonal_.resize(labels);
    for (std::size_t k = 0; k < labels; ++k) {
        const double pivot = system_[k * (stride + 1)];
        if (!(pivot > 0.0)) return false;
        inverse_diagonal_[k] = 1.0 / pivot;
    }
    active_kernels().back_substitute(system_.data(), stride, labels, head_.data());
    return true;
}

void Anchor::solve(const double* residual, double* scratch, double* step) const {
    active_kernels().solve_factored(system_.data(), system_stride(form_.labels), form_.labels, inverse_diagonal_.data(),
                                    residual, scratch, step);
}

ProfileWalk::ProfileWalk(const Form& form, const Settings& settings) : form_(form), settings_(settings) {
    if (!form.with_slack) return;
    const ProfileLayout layout(form.labels);
    for (AlignedVector* profile : {&part_, &missing_, &removed_}) profile->assign(layout.size(), 0.0);
    for (AlignedVector* vector : {&residual_, &step_, &product_, &scratch_}) vector->assign(layout.padded, 0.0);
}

void ProfileWalk::add(std::span<const std::int32_t> examples, AlignedVector& profile) const {
    const auto add_batch = [&](const double* const* rows, const double* weights, const double* slacks,
                               std::size_t count) {
        active_kernels().add_profile(profile.data(), rows, weights, slacks, count, form_.labels, anchor_->head());
    };
    for_each_batch(*gradients_, *weights_, examples, add_batch);
}

void ProfileWalk::add_product(std::span<const std::int32_t> examples, const AlignedVector& head,
                              AlignedVector& product) const {
    const auto add_batch = [&](const double* const* rows, const double* weights, const double*, std::size_t count) {
        active_kernels().add_hessian_product(product.data(), rows, weights, count, form_.labels, head.data());
    };
    for_each_batch(*gradients_, *weights_, examples, add_batch);
}

void ProfileWalk::start(const Gradients& gradients, const std::vector<double>& weights, const Listing& listing,
                        const Anchor& anchor) {
    gradients_ = &gradients;
    weights_ = &weights;
    listing_ = &listing;
    anchor_ = &anchor;
    std::fill(missing_.begin(), missing_.end(), 0.0);
    add(listing.missing(), missing_);
}

void ProfileWalk::resume(const AlignedVector& profile) {
    if (!profile.empty()) std::copy(profile.begin(), profile.end(), part_.begin());
}

void ProfileWalk::advance(const CandidatePair& pair) {
    pair_ = &pair;
    if (pair.starts_anew) std::fill(part_.begin(), part_.end(), 0.0);
    add(listing_->added(pair), part_);
}

const double* ProfileWalk::removed() {
    if (missing().empty()) return part_.data();
    for (std::size_t c = 0; c < removed_.size(); ++c) removed_[c] = part_[c] + missing_[c];
    return removed_.data();
}

const double* ProfileWalk::rest_profile() {
    const double* without = removed();
    for (std::size_t c = 0; c < removed_.size(); ++c) removed_[c] = anchor_->profile()[c] - without[c];
    return removed_.data();
}

GainBounds ProfileWalk::part_bounds() const {
    return active_kernels().bound_gain(part_.data(), nullptr, form_.labels, anchor_->head(), settings_.l2,
                                       anchor_->noise(), nullptr);
}

GainBounds ProfileWalk::rest_bounds() {
    return active_kernels().bound_gain(anchor_->profile(), removed(), form_.labels, anchor_->head(), settings_.l2,
                                       anchor_->noise(), residual_.data());
}

bool ProfileWalk::regular(const double* whole, const double* part) const {
    const ProfileLayout layout(form_.labels);
    for (std::size_t k = 0; k < form_.labels; ++k) {
        const auto at = [&](std::size_t place) { return whole[place + k] - (part != nullptr ? part[place + k] : 0.0); };
        const double least = std::max(at(layout.slack()) - anchor_->noise(), 0.0) + settings_.l2;
        if (!keeps_pivot(least, at(layout.additive()) + settings_.l2, anchor_->noise())) return false;
    }
    return true;
}

// Conjugate gradients with the preconditioner D = diag(d + l2): a step along s raises the gain by (r.s)^2 / (s.A s) / 2.
GainBounds ProfileWalk::settle_part(double least, double tolerance) {
    const ProfileLayout layout(form_.labels);
    const double* gradient = part_.data() + layout.gradient();
    const double* additive = part_.data() + layout.additive();
    const double* slack = part_.data() + layout.slack();
    double gain = 0.0, upper = 0.0, previous = 0.0;
    for (std::size_t k = 0; k < layout.padded; ++k) residual_[k] = -gradient[k];
    for (int step = 0; step < kMostSteps; ++step) {
        double along = 0.0;  // r.D^-1 r
        for (std::size_t k = 0; k < layout.padded; ++k) {
            scratch_[k] = residual_[k] / (additive[k] + settings_.l2);
            along += residual_[k] * scratch_[k];
        }
        const double kept = step == 0 ? 0.0 : along / previous;
        previous = along;
        for (std::size_t k = 0; k < layout.padded; ++k) step_[k] = scratch_[k] + kept * step_[k];
        std::fill(product_.begin(), product_.end(), 0.0);
        add_product(part(), step_, product_);
        double quadratic = 0.0;
        for (std::size_t k = 0; k < layout.padded; ++k) {
            product_[k] += settings_.l2 * step_[k];
            quadratic += step_[k] * product_[k];
        }
        const double length = quadratic > 0.0 ? along / quadratic : 0.0;
        gain += 0.5 * length * along;
        double rest = 0.0;
        for (std::size_t k = 0; k < layout.padded; ++k) {
            residual_[k] -= length * product_[k];
            rest += residual_[k] * residual_[k] / (std::max(slack[k] - anchor_->noise(), 0.0) + settings_.l2);
        }
        upper = gain + 0.5 * rest;
        if (upper < (1.0 - kBoundMargin) * least || 0.5 * rest <= tolerance * upper) break;
    }
    return {regular(part_.data(), nullptr) ? gain : 0.0, upper, gain};
}

// With the Hessian P of what is removed, the system of the rest is A - P. From x with residual r the step s = A^-1 r leads
// to x + s with residual P s, and raises the gain by (r.s + s.P s) / 2.
GainBounds ProfileWalk::settle_rest(double least, double tolerance) {
    const ProfileLayout layout(form_.labels);
    double gain = rest_bounds().at_head, upper = gain;
    const double* whole_slack = anchor_->profile() + layout.slack();
    const double* removed_slack = removed() + layout.slack();
    for (int step = 0; step < kMostSteps; ++step) {
        anchor_->solve(residual_.data(), scratch_.data(), step_.data());
        std::fill(product_.begin(), product_.end(), 0.0);
        add_product(part(), step_, product_);
        add_product(missing(), step_, product_);
        double rest = 0.0;
        for (std::size_t k = 0; k < layout.padded; ++k) {
            gain += 0.5 * step_[k] * (residual_[k] + product_[k]);
            const double lower = std::max(whole_slack[k] - removed_slack[k] - anchor_->noise(), 0.0) + settings_.l2;
            rest += product_[k] * product_[k] / lower;
        }
        upper = gain + 0.5 * rest;
        if (upper < (1.0 - kBoundMargin) * least || 0.5 * rest <= tolerance * upper) break;
        residual_.swap(product_);
    }
    return {regular(anchor_->profile(), removed()) ? gain : 0.0, upper, gain};
}

}  // namespace labelboost
