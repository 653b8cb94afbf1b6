#include "short_lists.hpp"

#include <algorithm>
#include <bit>

#include "screening.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kTogether = 16;
// So many candidates are scored before more are added up: few enough for their rows to stay in the cache.
constexpr std::size_t kMostWaiting = 128;
// What the rows of a sample may take: they are looked at in any order.
constexpr std::size_t kMostBytes = 1U << 18;

bool possible_for(const Form& form, const Settings& settings) {
    return !settings.trees && form.joint && PackedRows::possible(form, settings);
}

}  // namespace

SampleRows::SampleRows(const Form& form, const Settings& settings, std::size_t examples)
    : possible_(possible_for(form, settings)), rows_(form, settings), number_(possible_ ? examples : 0) {}

bool SampleRows::possible(std::size_t sampled) const {
    return possible_ && sampled * rows_.tiles().size * sizeof(float) <= kMostBytes;
}

bool SampleRows::useful(const Column& column, std::size_t sampled) {
    constexpr std::size_t kFew = 64;
    return column.nominal || sampled <= kFew || !Screening::pays(sampled, column.ranks());
}

void SampleRows::fill(const Gradients& gradients, const std::vector<double>& weights,
                      const std::vector<std::int32_t>& sample, ThreadPool& pool, Interrupt& interrupt) {
    rows_.fill(gradients, weights, sample, pool, interrupt);
    for (std::size_t i = 0; i < sample.size(); ++i) {
        number_[static_cast<std::size_t>(sample[i])] = static_cast<std::int32_t>(i);
    }
    filled_ = true;
}

ShortLists::ShortLists(const Form& form, const Settings& settings)
    : by_sign_(Screening::by_sign(form, settings)),
      total_(possible_for(form, settings) ? packed_sums_size(form.labels) : 0, 0.0f),
      scratch_(total_.empty() ? 0 : screen_scratch_size(form.labels, Screening::most_bins_per_sign(form, settings))) {}

void ShortLists::begin(const ScreenTask& task, const AlignedVector& total, double reached) {
    task_ = task;
    reached_ = static_cast<float>(std::min(reached, 0.0));  // gains are not negative
    rows_count_ = 0;
    candidates_.clear();
    findings_.clear();
    const JointLayout layout(task.labels);
    float* target = total_.data();
    const auto copy = [&](std::size_t place, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) *target++ = static_cast<float>(total[place + i]);
    };
    copy(layout.gradient(), task.labels);
    copy(layout.additive(), task.labels);
    for (std::size_t i = 0; i < task.labels; ++i) copy(layout.diagonal(i), task.labels - i);
}

void ShortLists::add(const SampleRows& rows, const Listing& listing, std::span<const CandidatePair> pairs,
                     std::size_t feature, std::size_t least) {
    const ActivityScope summing(*task_.activity, Activity::summing);
    const std::size_t needed = (rows_count_ + 2 * pairs.size()) * total_.size();
    if (rows_.size() < needed) rows_.resize(2 * needed);
    const auto number = static_cast<std::uint32_t>(feature);
    auto row = static_cast<std::uint32_t>(rows_count_);
    steps_.resize(pairs.size());
    std::size_t count = candidates_.size();
    candidates_.resize(count + 2 * pairs.size());
    for (std::size_t p = 0; p < pairs.size(); ++p, row += 2) {
        const CandidatePair& pair = pairs[p];
        steps_[p] = {pair.added_begin, pair.added_end, pair.starts_anew};
        candidates_[count] = {number, pair.part_slot, row, false};
        count += pair.part_count >= least ? 1 : 0;
        candidates_[count] = {number, pair.rest_slot(), row + 1, true};
        count += pair.rest_count >= least ? 1 : 0;
    }
    candidates_.resize(count);
    active_kernels().add_up_splits(rows.rows(), listing.examples().data(), steps_.data(), steps_.size(), total_.data(),
                                   rows_.data() + rows_count_ * total_.size());
    rows_count_ = row;
    if (candidates_.size() >= kMostWaiting) finish();
}

void ShortLists::finish() {
    const ActivityScope evaluating(*task_.activity, Activity::evaluating);
    const std::span<const Candidate> all = candidates_;
    for (std::size_t begin = 0; begin < all.size(); begin += kTogether) {
        score(all.subspan(begin, std::min(kTogether, all.size() - begin)));
    }
    rows_count_ = 0;
    candidates_.clear();
}

void ShortLists::score(std::span<const Candidate> candidates) {
    const float* rows[kTogether];
    std::int32_t subtracted[kTogether];
    for (std::size_t i = 0; i < kTogether; ++i) {
        const Candidate& candidate = candidates[std::min(i, candidates.size() - 1)];
        rows[i] = row(candidate.row);
        subtracted[i] = candidate.subtracted ? -1 : 0;
    }
    alignas(64) float quality[kTogether];
    unsigned best = active_kernels().score_regions(rows, subtracted, total_.data(), task_, by_sign_, scratch_.data(),
                                                   quality, reached_);
    for (best &= (1U << candidates.size()) - 1; best != 0; best &= best - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(best));
        findings_.push_back({candidates[i].feature, candidates[i].slot, quality[i]});
    }
}

}  // namespace labelboost
