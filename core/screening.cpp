#include "screening.hpp"

#include <algorithm>

#include "packed.hpp"

namespace labelboost {
namespace {

// The sums of all leaps of a block take 38 MB with so many labels.
constexpr std::size_t kMostJointLabels = 256;
// Splits of trees are scored one by one, without leaps.
constexpr std::size_t kMostTreeLabels = 96;
// With several bins, bounds are the looser, and systems take the longer to form, the more there are of them.
constexpr std::size_t kFewestManyBins = 9, kMostLabelsFewBins = 112, kMostLabelsManyBins = 56;
// Then a system for each leap of a list, in sixteen lanes, does not pay for fewer examples.
std::size_t fewest_examples(std::size_t labels) {
    return labels <= 32 ? 0 : labels <= 80 ? 128 : 512;
}

// The most bins that a sign can have; 0 without label bins.
std::size_t most_bins(std::size_t labels, const Settings& settings) {
    if (!settings.binned_candidates()) return 0;
    return static_cast<std::size_t>(bins_for_sign(static_cast<std::int32_t>(labels), settings.bins));
}

}  // namespace

std::size_t Screening::most_bins_per_sign(const Form& form, const Settings& settings) {
    return most_bins(form.labels, settings);
}

bool Screening::possible(const Form& form, const Settings& settings) {
    if (!(settings.l2 > 0.0) || form.sets != nullptr || form.flat) return false;
    if (!form.joint) return form.labels <= kMostScreenLabels && !settings.binned_candidates();
    if (by_sign(form, settings)) return form.labels <= kMostJointLabels;
    if (!settings.binned_candidates()) return form.labels <= (settings.trees ? kMostTreeLabels : kMostJointLabels);
    const bool many_bins = most_bins(form.labels, settings) >= kFewestManyBins;
    return form.labels <= (many_bins ? kMostLabelsManyBins : kMostLabelsFewBins);
}

bool Screening::useful(const Form& form, const Settings& settings, const Columns& columns) {
    const auto is_long = [](const Column& column) { return !column.nominal && column.ranks() > kFewestSplits; };
    return possible(form, settings) &&
           (PackedRows::possible(form, settings) || std::ranges::any_of(columns.features, is_long));
}

bool Screening::pays(std::size_t examples, std::size_t splits) {
    return splits >= kFewestSplits && 8 * splits >= examples;
}

bool Screening::leaps_pay(std::size_t labels, std::size_t examples, std::size_t candidates) {
    const auto k = static_cast<double>(labels), n = static_cast<double>(examples);
    // A candidate takes a few steps, each with the factors of a system and along its part.
    const double settled = static_cast<double>(candidates) * 3.0 * k * (k / 5.0 + n / 16.0);
    return settled > n * k * k * (k / 50.0 + 0.4);
}

Screening::Screening(const Form& form, const Settings& settings)
    : form_(form),
      settings_(settings),
      by_sign_(by_sign(form, settings)),
      with_systems_(form.joint && !by_sign_ && possible(form, settings)) {
    if (!possible(form, settings)) return;
    if (settings.binned_candidates()) {
        bins_for_.resize(padded_floats(form.labels + 1));
        for (std::size_t n = 1; n <= form.labels; ++n) bins_for_[n] = static_cast<float>(most_bins(n, settings));
    }
    const std::size_t bins = most_bins(form.labels, settings);
    if (bins > 0 && with_systems_) fewest_examples_ = fewest_examples(form.labels);
    if (by_leaps(settings)) {
        scratch_.resize(leap_scratch_size(form.labels, form.joint, bins));
        waiting_sums_.resize(leap_sums_size(form.labels, form.joint));
    } else {
        scratch_.resize(screen_scratch_size(form.labels, form.joint, bins));
    }
    sums_before_.resize(form.size());
}

bool Screening::by_sign(const Form& form, const Settings& settings) {
    return most_bins(form.labels, settings) == 1 && !settings.bins.exact;
}

void Screening::line_up(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk,
                        Lined& out) const {
    // Nothing behind the last split needs to be walked along.
    const std::size_t count = walk.splits.back().end;
    const auto* const examples = walk.examples.data();
    const std::size_t last = walk.examples.size() - 1;
    out.rows.resize(count);
    out.far = gradients.rows<float>().far();
    out.weights.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int32_t example = examples[walk.from_the_back ? last - i : i];
        out.rows[i] = gradients.rounded_row(example);
        out.weights[i] = static_cast<float>(weights[static_cast<std::size_t>(example)]);
    }
    out.wanted.assign(count, 0);
    out.slots.resize(count);
    for (const WalkSplit& split : walk.splits) {
        out.wanted[split.end - 1] = static_cast<std::uint8_t>((split.before ? 1 : 0) | (split.behind ? 2 : 0));
        out.slots[split.end - 1] = split.slot;
    }
}

void Screening::Lined::put_into(ScreenTask& task, std::size_t start, std::size_t count) const {
    task.rows = rows.data() + start;
    task.far = far;
    task.weights = weights.data() + start;
    task.wanted = wanted.data() + start;
    task.slots = slots.data() + start;
    task.feature = feature;
    task.count = count;
}

void Screening::run(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk,
                    const AlignedVector& total, double total_weight, double noise, ActivityMark& activity) {
    line_up(gradients, weights, walk, lined_[0]);
    const std::size_t count = lined_[0].rows.size();
    place_.resize(walk.splits.size());
    // Results stand in the order of the kernels' lanes: column by column, as it were.
    std::size_t begin = 0, column = 0, first_of_column = 0;
    std::size_t size = std::min(kScreenBlock, count);
    std::size_t steps = screen_steps(size);
    for (std::size_t s = 0; s < walk.splits.size(); ++s) {
        const std::size_t position = walk.splits[s].end - 1;
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
    before_quality_.resize(screen_result_size(count));
    behind_quality_.resize(screen_result_size(count));
    const Kernels& kernels = active_kernels();
    const auto kernel = !form_.joint ? kernels.screen_diagonal : by_sign_ ? kernels.screen_signed : kernels.screen_joint;
    score_blocks(walk, total, total_weight, noise, activity, [&](const ScreenTask& task, std::size_t start) {
        kernel(task, scratch_.data(), before_quality_.data() + start, behind_quality_.data() + start);
    });
}

void Screening::begin_leaps(double reached, const AlignedVector& total) {
    // Gains are not negative, so nothing needs to be better than that.
    leaps_.reached = static_cast<float>(std::min(reached, 0.0));
    leaps_.total = total.data();
    leaps_.sums = waiting_sums_.data();
    leaps_.waiting = 0;
    leaps_.found = 0;
    short_lists_ = 0;
}

void Screening::make_room(std::size_t examples) {
    const std::size_t most = leaps_.found + 2 * examples + kScreenLanes * kLongLeap;
    if (findings_.size() < most) findings_.resize(2 * most);
    leaps_.findings = findings_.data();
}

void Screening::leap(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk, std::size_t feature,
                     const AlignedVector& total, double total_weight, double noise, ActivityMark& activity) {
    const bool is_short = walk.splits.back().end <= kLongestShort && !walk.any_missing;
    if (!is_short && short_lists_ > 0) leap_along_short_lists(noise, activity);
    Lined& lined = lined_[short_lists_];
    line_up(gradients, weights, walk, lined);
    lined.feature = static_cast<std::uint32_t>(feature);
    if (is_short) {
        short_weight_ = total_weight;
        if (++short_lists_ == kShortLists) leap_along_short_lists(noise, activity);
        return;
    }
    make_room(lined.rows.size());
    score_blocks(walk, total, total_weight, noise, activity,
                 [&](const ScreenTask& task, std::size_t) { leap_along(&task, 1); });
}

void Screening::leap_along_short_lists(double noise, ActivityMark& activity) {
    const ActivityScope summing(activity, Activity::summing);
    ScreenTask lists[kShortLists];
    std::size_t examples = 0;
    double nothing_before = 0.0;
    for (std::size_t l = 0; l < kShortLists; ++l) {
        lists[l] = task(noise, activity);
        lists[l].total = leaps_.total;
        lists[l].total_weight = short_weight_;
        lists[l].before = sums_before_.data();
        lists[l].weight_before = &nothing_before;
        if (l >= short_lists_) continue;
        lined_[l].put_into(lists[l], 0, lined_[l].rows.size());
        examples += lists[l].count;
    }
    make_room(examples);
    if (short_lists_ == 1) std::fill(sums_before_.begin(), sums_before_.end(), 0.0);
    leap_along(lists, short_lists_ == 1 ? 1 : kShortLists);
    short_lists_ = 0;
}

void Screening::finish_leaps(double noise, ActivityMark& activity) {
    if (short_lists_ > 0) leap_along_short_lists(noise, activity);
    if (leaps_.waiting == 0) return;
    const ActivityScope summing(activity, Activity::summing);
    const ScreenTask nothing = task(noise, activity);
    make_room(0);
    leap_along(&nothing, 1);
}

void Screening::leap_along(const ScreenTask* lists, std::size_t count) {
    const Kernels& kernels = active_kernels();
    const auto kernel = !form_.joint ? kernels.leap_diagonal : by_sign_ ? kernels.leap_signed : kernels.leap_joint;
    kernel(lists, count, leaps_, scratch_.data());
}

ScreenTask Screening::task(double noise, ActivityMark& activity) const {
    ScreenTask task{};
    task.labels = form_.labels;
    task.l2 = settings_.l2;
    task.noise = noise;
    task.bins_for = bins_for_.empty() ? nullptr : bins_for_.data();
    task.exact = settings_.bins.exact;
    task.single = settings_.single_head;
    task.activity = &activity;
    return task;
}

template <typename Score>
void Screening::score_blocks(const Walk& walk, const AlignedVector& total, double total_weight, double noise,
                             ActivityMark& activity, const Score& score) {
    const ActivityScope summing(activity, Activity::summing);
    const Lined& lined = lined_[0];
    const std::size_t count = lined.rows.size();
    double weight_before = walk.start_weight;
    if (walk.start != nullptr) {
        std::copy(walk.start->begin(), walk.start->end(), sums_before_.begin());
    } else {
        std::fill(sums_before_.begin(), sums_before_.end(), 0.0);
    }
    ScreenTask block = task(noise, activity);
    block.total = total.data();
    block.total_weight = total_weight;
    block.before = sums_before_.data();
    block.weight_before = &weight_before;
    for (std::size_t start = 0; start < count; start += kScreenBlock) {
        lined.put_into(block, start, std::min(kScreenBlock, count - start));
        score(block, start);
    }
}

}  // namespace labelboost
