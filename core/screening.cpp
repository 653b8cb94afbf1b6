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
    if (!(settings.l2 > 0.0) || form.sets != nullptr || form.flat) return false;
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
    sums_before_.resize(form.size());
}

void Screening::run(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk,
                    const AlignedVector& total, double total_weight, double noise, ActivityMark& activity) {
    // Nothing behind the last split needs to be walked along.
    const std::size_t count = walk.splits.back();
    const auto* const examples = walk.examples.data();
    const std::size_t last = walk.examples.size() - 1;
    rows_.resize(count);
    weights_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t example = examples[walk.from_the_back ? last - i : i];
        rows_[i] = gradients.rounded_row(example);
        weights_[i] = static_cast<float>(weights[static_cast<std::size_t>(example)]);
    }
    wanted_.assign(count, 0);
    place_.resize(walk.splits.size());
    // Results stand in the order of the kernels' lanes: column by column, as it were.
    std::size_t begin = 0, column = 0, first_of_column = 0;
    std::size_t size = std::min(kScreenBlock, count);
    std::size_t steps = screen_steps(size);
    for (std::size_t s = 0; s < walk.splits.size(); ++s) {
        const std::size_t position = walk.splits[s] - 1;
        wanted_[position] = 1;
        while (position >= begin + size) {
            begin += size;
            size = std::min(kScreenBlock, count - begin);
            steps = screen_steps(size);
            column = first_of_column = 0;
        }
        while (position - begin >= first_of_column + steps) {
            first_of_column += steps;
            ++column;
        }
        place_[s] = static_cast<std::uint32_t>(begin + kScreenLanes * (position - begin - first_of_column) + column);
    }
    score_blocks(walk, total, total_weight, noise, activity);
}

void Screening::score_blocks(const Walk& walk, const AlignedVector& total, double total_weight, double noise,
                             ActivityMark& activity) {
    const ActivityScope summing(activity, Activity::summing);
    const Kernels& kernels = active_kernels();
    const bool by_sign = most_bins(form_.labels, settings_) == 1 && !settings_.bins.exact;
    const auto kernel = !form_.joint ? kernels.screen_diagonal : by_sign ? kernels.screen_signed : kernels.screen_joint;
    const std::size_t count = rows_.size();
    double weight_before = walk.start_weight;
    before_quality_.resize(screen_result_size(count));
    behind_quality_.resize(screen_result_size(count));
    if (walk.start != nullptr) {
        std::copy(walk.start->begin(), walk.start->end(), sums_before_.begin());
    } else {
        std::fill(sums_before_.begin(), sums_before_.end(), 0.0);
    }
    for (std::size_t start = 0; start < count; start += kScreenBlock) {
        const ScreenTask task{rows_.data() + start,
                              weights_.data() + start,
                              wanted_.data() + start,
                              std::min(kScreenBlock, count - start),
                              form_.labels,
                              total.data(),
                              sums_before_.data(),
                              total_weight,
                              &weight_before,
                              settings_.l2,
                              noise,
                              bins_for_.empty() ? nullptr : bins_for_.data(),
                              settings_.bins.exact,
                              settings_.single_head,
                              &activity};
        kernel(task, scratch_.data(), before_quality_.data() + start, behind_quality_.data() + start);
    }
}

}  // namespace labelboost
