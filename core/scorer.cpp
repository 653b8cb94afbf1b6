#include "scorer.hpp"

#include <algorithm>
#include <cstring>

namespace labelboost {
namespace {

// Eight interleaved systems of this size still fit into a common second-level cache.
constexpr std::size_t kMostLaneUnknowns = 96;

// One system for the `factorise` kernel.
double score_single_joint(const double* sums, std::size_t labels, double l2, double noise, AlignedVector& scratch,
                          Interrupt& interrupt) {
    const std::size_t stride = system_stride(labels);
    scratch.resize(labels * stride);
    fill_joint_system(sums, labels, l2, scratch.data());
    return factorise_system(scratch.data(), stride, labels, noise, interrupt);
}

}  // namespace

CandidateScorer::CandidateScorer(const Form& form, const Settings& settings)
    : form_(form),
      settings_(settings),
      sums_(settings.binned_candidates() ? 0 : kLanes * form.size(), 0.0),
      binned_(form, settings) {}

void CandidateScorer::add(const double* whole, const double* part, double* quality) {
    const Kernels& kernels = active_kernels();
    if (form_.flat) {
        *quality = kernels.score_flat(whole, part, form_.labels, settings_.l2, noise_);
        return;
    }
    if (!form_.joint && !settings_.binned_candidates()) {  // too cheap to be worth a batch
        *quality = kernels.score_diagonal(whole, part, form_.labels, settings_.l2, noise_, settings_.single_head);
        return;
    }
    if (settings_.binned_candidates()) {
        binned_.form_system(whole, part, noise_);
        add_system(quality);
        return;
    }
    if (count_ == kLanes) flush();
    double* slot = sums_.data() + form_.size() * count_;
    if (part == nullptr) {
        std::memcpy(slot, whole, form_.size() * sizeof(double));
    } else {
        kernels.subtract(slot, whole, part, form_.size());
    }
    targets_[count_++] = quality;
}

void CandidateScorer::add_system(double* quality) {
    if (count_ == kLanes) flush();
    const std::size_t bins = binned_.unknowns();
    for (std::size_t b = 0; b < bins; ++b) {
        for (std::size_t q = b; q < bins; ++q) gathered_.push_back(binned_.matrix(b, q));
        gathered_.push_back(-binned_.gradient(b));
    }
    unknowns_[count_] = bins;
    targets_[count_++] = quality;
}

void CandidateScorer::flush() {
    if (count_ == 0) return;
    const Kernels& kernels = active_kernels();
    const auto sums = [this](std::size_t i) { return sums_.data() + i * form_.size(); };
    if (settings_.binned_candidates()) {
        score_binned();
    } else if (form_.labels <= kMostLaneUnknowns) {
        alignas(64) double quality[kLanes];
        scratch_.resize(lane_scratch_size(form_.labels));
        kernels.score_joint_lanes(sums_.data(), form_.size(), form_.labels, settings_.l2, noise_, scratch_.data(),
                                  quality);
        for (std::size_t i = 0; i < count_; ++i) *targets_[i] = quality[i];
    } else {
        for (std::size_t i = 0; i < count_; ++i) {
            *targets_[i] = score_single_joint(sums(i), form_.labels, settings_.l2, noise_, scratch_, *interrupt_);
        }
    }
    count_ = 0;
}

void CandidateScorer::score_binned() {
    const std::size_t most = *std::max_element(unknowns_, unknowns_ + count_);
    AlignedVector& system = scratch_;
    // Unknowns that a candidate does not have stay neutral.
    system.assign(lane_scratch_size(most), 0.0);
    const double* source = gathered_.data();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        double* target = system.data() + lane;
        for (std::size_t b = 0; b < most; ++b) {
            const std::size_t unknowns = lane < count_ && b < unknowns_[lane] ? unknowns_[lane] - b : 0;
            for (std::size_t c = 0; c < unknowns; ++c) target[kLanes * c] = *source++;
            if (unknowns == 0) {
                target[0] = 1.0;
            } else {
                target[kLanes * (most - b)] = *source++;
            }
            target += kLanes * (most - b + 1);
        }
    }
    alignas(64) double quality[kLanes];
    active_kernels().score_lanes(system.data(), most, noise_, quality);
    for (std::size_t i = 0; i < count_; ++i) *targets_[i] = quality[i];
    gathered_.clear();
}

}  // namespace labelboost
