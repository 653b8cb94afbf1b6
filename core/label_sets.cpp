#include "label_sets.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/kernels.hpp"

namespace labelboost {

LabelSets::LabelSets(std::span<const std::uint8_t> vectors, std::size_t labels, std::span<const double> weights,
                     std::span<const std::int32_t> set_of)
    : labels_(labels), set_of_(set_of.begin(), set_of.end()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    first_.push_back(0);
    for (std::size_t s = 0; s < weights.size(); ++s) {
        log_priors_.push_back(std::log(weights[s] / total));
        for (std::size_t k = 0; k < labels; ++k) {
            if (vectors[s * labels + k] != 0) members_.push_back(static_cast<std::uint32_t>(k));
        }
        const std::size_t size = members_.size() - first_.back();
        pairs_ += size * (size + 1) / 2;
        first_.push_back(members_.size());
    }
}

void LabelSets::distribution(const double* scores, double* probabilities) const {
    for (std::size_t s = 0; s < size(); ++s) {
        double logit = log_priors_[s];
        for (const std::uint32_t k : members(s)) logit += scores[k];
        probabilities[s] = logit;
    }
    active_kernels().softmax(probabilities, size());
}

bool LabelSets::factors(const double* head, double* out) const {
    constexpr double kLargestStep = 4.0;
    for (std::size_t s = 0; s < size(); ++s) {
        double step = 0.0;
        for (const std::uint32_t k : members(s)) step += head[k];
        if (!(std::abs(step) <= kLargestStep)) return false;
        out[s] = std::exp(step);
    }
    return true;
}

void LabelSets::marginals(std::span<const double* const> distributions, std::span<double* const> out,
                          double* sums) const {
    const double* rows[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) rows[i] = distributions[std::min(i, distributions.size() - 1)];
    std::fill_n(sums, marginal_scratch_size(), 0.0);
    active_kernels().add_marginals(rows, size(), first_.data(), members_.data(), sums);
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (std::size_t k = 0; k < padded_size(labels_); ++k) out[i][k] = sums[kLanes * k + i];
    }
}

void LabelSets::to_joint(const double* sums, double* joint) const {
    const LabelSetLayout layout(labels_, size());
    std::copy_n(sums, layout.joint.size(), joint);
    for (std::size_t k = 0; k < labels_; ++k) {
        joint[layout.joint.gradient() + k] -= sums[layout.relevant() + k];
        joint[layout.joint.additive() + k] = 0.0;
    }
    const double* probability = sums + layout.probabilities();
    for (std::size_t s = 0; s < size(); ++s) {
        const std::span<const std::uint32_t> labels = members(s);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            // Element (k, j) of a row that begins with the first column of k's block.
            const std::size_t k = labels[i];
            double* const row = joint + layout.joint.row(k) - k / kLanes * kLanes;
            // The diagonal blocks hold both triangles.
            std::size_t from = i;
            while (from > 0 && labels[from - 1] / kLanes == k / kLanes) --from;
            for (std::size_t j = from; j < labels.size(); ++j) row[labels[j]] -= probability[s];
        }
    }
}

void LabelSets::pack(const double* probabilities, const double* marginals, std::int32_t example, double weight,
                     double* scratch, float* out) const {
    constexpr double kNegligible = 1e-9;
    const auto place = [this](std::size_t i) { return i * (labels_ + 2) - i * (i + 1) / 2; };  // of row i
    double* element = scratch;
    for (std::size_t i = 0; i < labels_; ++i) {
        for (std::size_t j = i; j < labels_; ++j) *element++ = -marginals[i] * marginals[j];
        *element++ = -marginals[i];
    }
    for (std::size_t s = 0; s < size(); ++s) {
        if (probabilities[s] < kNegligible) continue;
        const std::span<const std::uint32_t> labels = members(s);
        for (std::size_t i = 0; i < labels.size(); ++i) {
            double* const row = scratch + place(labels[i]) - labels[i];
            for (std::size_t j = i; j < labels.size(); ++j) row[labels[j]] += probabilities[s];
        }
    }
    for (const std::uint32_t k : members(set_of(example))) scratch[place(k) + labels_ - k] += 1.0;
    const std::size_t elements = labels_ * (labels_ + 3) / 2;
    for (std::size_t e = 0; e < elements; ++e) out[e] = static_cast<float>(weight * scratch[e]);
}

}  // namespace labelboost
