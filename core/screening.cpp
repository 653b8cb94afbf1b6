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

void Screening::clear() {
    rows_.clear();
    weights_.clear();
    wanted_.clear();
    ends_.clear();
}

void Screening::append(const Gradients& gradients, const std::vector<double>& weights,
                       std::span<const std::int32_t> examples) {
    for (const std::int32_t example : examples) {
        rows_.push_back(gradients.rounded_row(example));
        weights_.push_back(static_cast<float>(weights[static_cast<std::size_t>(example)]));
        wanted_.push_back(0);
    }
    wanted_.back() = 1;
    ends_.push_back(rows_.size());
}

void Screening::run(const AlignedVector& total, double noise) {
    first_.resize(rows_.size());
    rest_.resize(rows_.size());
    std::fill(before_.begin(), before_.end(), 0.0);
    for (std::size_t start = 0; start < rows_.size(); start += kScreenBlock) {
        const ScreenTask task{rows_.data() + start,
                              weights_.data() + start,
                              wanted_.data() + start,
                              std::min(kScreenBlock, rows_.size() - start),
                              form_.labels,
                              total.data(),
                              before_.data(),
                              settings_.l2,
                              noise,
                              bins_for_.empty() ? nullptr : bins_for_.data(),
                              settings_.bins.exact,
                              settings_.single_head};
        const auto screen = form_.joint ? active_kernels().screen_joint : active_kernels().screen_diagonal;
        screen(task, scratch_.data(), first_.data() + start, rest_.data() + start);
    }
}

}  // namespace labelboost
