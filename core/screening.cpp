#include "screening.hpp"

#include <algorithm>

namespace labelboost {
namespace {

constexpr std::size_t kMostJointLabels = 32;
constexpr std::size_t kMostDiagonalLabels = 64;
constexpr std::size_t kMostBinsPerSign = 8;
constexpr std::size_t kFewestSplits = 12;

// The most bins that a sign can have; 0 without label bins.
std::size_t most_bins(std::size_t labels, const Settings& settings) {
    if (!settings.binned_candidates()) return 0;
    return static_cast<std::size_t>(bins_for_sign(static_cast<std::int32_t>(labels), settings.bins));
}

}  // namespace

bool Screening::possible(const Form& form, const Settings& settings) {
    if (!(settings.l2 > 0.0)) return false;
    if (!form.joint) return form.labels <= kMostDiagonalLabels && !settings.binned_candidates();
    return form.labels <= kMostJointLabels && most_bins(form.labels, settings) <= kMostBinsPerSign;
}

bool Screening::pays(std::size_t examples, std::size_t splits) {
    return splits >= kFewestSplits && 8 * splits >= examples;
}

Screening::Screening(const Form& form, const Settings& settings) : form_(form), settings_(settings) {
    if (!possible(form, settings)) return;
    if (settings.binned_candidates()) {
        bins_for_.push_back(0.0f);
        for (std::size_t n = 1; n <= form.labels; ++n) {
            bins_for_.push_back(static_cast<float>(most_bins(n, settings)));
        }
    }
    scratch_.resize(screen_scratch_size(form.labels, most_bins(form.labels, settings)));
    before_.resize(form.size());
}

void Screening::run(const Gradients& gradients, const std::vector<double>& weights,
                    std::span<const std::int32_t> listed, std::span<const CandidatePair> pairs,
                    const AlignedVector& total, double noise) {
    // The examples in the order in which they join the parts: from the front of the list, or else from its back.
    const CandidatePair& last = pairs.back();
    const std::size_t count = last.end - last.begin;
    const bool from_front = pairs.front().begin == 0;
    rows_.resize(count);
    weights_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t example = listed[from_front ? i : listed.size() - 1 - i];
        rows_[i] = gradients.rounded_row(example);
        weights_[i] = static_cast<float>(weights[static_cast<std::size_t>(example)]);
    }
    wanted_.assign(count, 0);
    place_.resize(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::size_t before = pairs[i].end - pairs[i].begin - 1;
        wanted_[before] = 1;
        const std::size_t block = before / kScreenBlock * kScreenBlock;
        place_[i] = block + screen_place(before - block, std::min(kScreenBlock, count - block));
    }
    score_blocks(total, noise);
}

void Screening::score_blocks(const AlignedVector& total, double noise) {
    const Kernels& kernels = active_kernels();
    const bool by_sign = most_bins(form_.labels, settings_) == 1 && !settings_.bins.exact;
    const auto kernel = !form_.joint ? kernels.screen_diagonal : by_sign ? kernels.screen_signed : kernels.screen_joint;
    const std::size_t count = rows_.size();
    part_.resize(screen_result_size(count));
    rest_.resize(screen_result_size(count));
    std::fill(before_.begin(), before_.end(), 0.0);
    for (std::size_t start = 0; start < count; start += kScreenBlock) {
        const ScreenTask task{rows_.data() + start,
                              weights_.data() + start,
                              wanted_.data() + start,
                              std::min(kScreenBlock, count - start),
                              form_.labels,
                              total.data(),
                              before_.data(),
                              settings_.l2,
                              noise,
                              bins_for_.empty() ? nullptr : bins_for_.data(),
                              settings_.bins.exact,
                              settings_.single_head};
        kernel(task, scratch_.data(), part_.data() + start, rest_.data() + start);
    }
}

}  // namespace labelboost
