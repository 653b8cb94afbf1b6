#include "short_lists.hpp"

#include <algorithm>
#include <bit>

#include "screening.hpp"

namespace labelboost {
namespace {

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
      scratch_(total_.empty() ? 0 : screen_scratch_size(form.labels, true, Screening::most_bins_per_sign(form, settings))) {}

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

void ShortLists::add(const SampleRows& rows, const Listing& listing, std::size_t feature, std::size_t least) {
    add_pairs(rows, listing, listing.splits(), [&](const auto& visit) { listing.for_each_pair(visit); }, feature, least);
}

void ShortLists::add(const SampleRows& rows, const Listing& listing, std::span<const CandidatePair> pairs,
                     std::size_t feature, std::size_t least) {
    add_pairs(rows, listing, pairs.size(), [&](const auto& visit) { std::ranges::for_each(pairs, visit); }, feature, least);
}

template <typename ForEachPair>
void ShortLists::add_pairs(const SampleRows& rows, const Listing& listing, std::size_t pairs,
                           const ForEachPair& for_each_pair, std::size_t feature, std::size_t least) {
    const ActivityScope summing(*task_.activity, Activity::summing);
    const std::size_t needed = (rows_count_ + 2 * pairs) * total_.size();
    if (rows_.size() < needed) rows_.resize(2 * needed);
    const auto number = static_cast<std::uint32_t>(feature);
    auto row = static_cast<std::uint32_t>(rows_count_);
    const std::size_t waiting = candidates_.size();
    steps_.resize(pairs);
    candidates_.resize(waiting + 2 * pairs);
    SplitStep* step = steps_.data();
    Candidate* candidate = candidates_.data() + waiting;
    for_each_pair([&](const CandidatePair& pair) {
        *step++ = {pair.added_begin, pair.added_end, pair.starts_anew};
        *candidate = {number, pair.part_slot, row, false};
        candidate += pair.part_count >= least ? 1 : 0;
        *candidate = {number, pair.rest_slot(), row + 1, true};
        candidate += pair.rest_count >= least ? 1 : 0;
        row += 2;
    });
    candidates_.resize(static_cast<std::size_t>(candidate - candidates_.data()));
    active_kernels().add_up_splits(rows.rows(), listing.examples().data(), steps_.data(), steps_.size(), total_.data(),
                                   rows_.data() + rows_count_ * total_.size());
    rows_count_ = row;
    if (candidates_.size() >= kMostWaiting) finish();
}

// Unless qualities are as cheap as bounds, candidates that a bound rules out are left out first.
void ShortLists::finish() {
    const ActivityScope evaluating(*task_.activity, Activity::evaluating);
    const std::span<const Candidate> all = candidates_;
    Candidate left[2 * kTogether];
    std::size_t count = 0;
    for (std::size_t begin = 0; begin < all.size(); begin += kTogether) {
        const std::span<const Candidate> some = all.subspan(begin, std::min(kTogether, all.size() - begin));
        if (by_sign_) {
            score(some);
            continue;
        }
        unsigned promising =
            active_kernels().promising_regions(rows(some).of, total_.data(), task_, scratch_.data(), reached_);
        for (promising &= (1U << some.size()) - 1; promising != 0; promising &= promising - 1) {
            left[count++] = some[static_cast<std::size_t>(std::countr_zero(promising))];
        }
        if (count < kTogether) continue;
        score({left, kTogether});
        count -= kTogether;
        std::copy_n(left + kTogether, count, left);
    }
    if (count > 0) score({left, count});
    rows_count_ = 0;
    candidates_.clear();
}

ShortLists::Rows ShortLists::rows(std::span<const Candidate> candidates) const {
    Rows rows;
    for (std::size_t i = 0; i < kTogether; ++i) {
        rows.of[i] = rows_.data() + candidates[std::min(i, candidates.size() - 1)].row * total_.size();
    }
    return rows;
}

void ShortLists::score(std::span<const Candidate> candidates) {
    std::int32_t subtracted[kTogether] = {};
    for (std::size_t i = 0; i < candidates.size(); ++i) subtracted[i] = candidates[i].subtracted ? -1 : 0;
    alignas(64) float quality[kTogether];
    unsigned best = active_kernels().score_regions(rows(candidates).of, subtracted, total_.data(), task_, by_sign_,
                                                   scratch_.data(), quality, reached_);
    for (best &= (1U << candidates.size()) - 1; best != 0; best &= best - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(best));
        findings_.push_back({candidates[i].feature, candidates[i].slot, quality[i]});
    }
}

}  // namespace labelboost
