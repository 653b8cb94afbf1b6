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
    const JointLayout layout(labels);
    const std::size_t stride = padded_size(labels + 1);
    scratch.resize(labels * stride);
    for (std::size_t i = 0; i < labels; ++i) {
        double* target = scratch.data() + i * stride;
        const double* row = sums + layout.diagonal(i);
        for (std::size_t j = i; j < labels; ++j) target[j] = -row[j - i];
        target[i] += sums[layout.additive() + i] + l2;
        target[labels] = -sums[layout.gradient() + i];
    }
    return factorise_system(scratch.data(), stride, labels, noise, interrupt);
}

}  // namespace

CandidateScorer::CandidateScorer(const Form& form, const Settings& settings)
    : form_(form), settings_(settings), sums_(kLanes * form.size(), 0.0), binned_(form, settings) {}

void CandidateScorer::add(const double* whole, const double* part, double* quality) {
    const Kernels& kernels = active_kernels();
    if (!form_.joint && !settings_.binned_candidates()) {  // too cheap to be worth a batch
        *quality = kernels.score_diagonal(whole, part, form_.labels, settings_.l2, noise_, settings_.single_head);
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

void CandidateScorer::flush() {
    if (count_ == 0) return;
    const Kernels& kernels = active_kernels();
    const auto sums = [this](std::size_t i) { return sums_.data() + i * form_.size(); };
    if (settings_.binned_candidates()) {
        score_binned();
    } else if (form_.labels <= kMostLaneUnknowns) {
        alignas(64) double quality[kLanes];
        scratch_.resize(lane_scratch_size(form_.labels));
        kernels.score_joint_lanes(sums_.data(), form_.labels, settings_.l2, noise_, scratch_.data(), quality);
        for (std::size_t i = 0; i < count_; ++i) *targets_[i] = quality[i];
    } else {
        for (std::size_t i = 0; i < count_; ++i) {
            *targets_[i] = score_single_joint(sums(i), form_.labels, settings_.l2, noise_, scratch_, *interrupt_);
        }
    }
    count_ = 0;
}

void CandidateScorer::score_binned() {
    // Room for as many unknowns as there are labels; unknowns that a candidate does not have stay neutral.
    std::size_t bins[kLanes] = {};
    std::size_t most = 0;
    AlignedVector& system = scratch_;
    std::vector<double>& gathered = gathered_;
    gathered.clear();
    for (std::size_t lane = 0; lane < count_; ++lane) {
        bins[lane] = binned_.form_system(sums_.data() + lane * form_.size(), noise_);
        most = std::max(most, bins[lane]);
        for (std::size_t b = 0; b < bins[lane]; ++b) {
            for (std::size_t q = b; q < bins[lane]; ++q) gathered.push_back(binned_.matrix(b, q));
            gathered.push_back(-binned_.gradient(b));
        }
    }
    system.assign(lane_scratch_size(most), 0.0);
    const double* source = gathered.data();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        double* target = system.data() + lane;
        for (std::size_t b = 0; b < most; ++b) {
            const std::size_t unknowns = b < bins[lane] ? bins[lane] - b : 0;
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
}

}  // namespace labelboost
