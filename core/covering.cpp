// What a rule or a node covers: its sums, and what is left of it when a condition is added.
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "search.hpp"

namespace labelboost {
namespace {

// Whether sums have shrunk so much since they were added up that old rounding errors would start to show.
bool has_shrunk(double weight, double summed_weight) {
    constexpr double kMostShrinking = 16.0;
    return kMostShrinking * weight < summed_weight;
}

template <typename IsKept>
void keep_if(std::vector<std::int32_t>& examples, const IsKept& is_kept) {
    std::size_t kept = 0;
    for (const std::int32_t example : examples) {
        examples[kept] = example;
        kept += is_kept(static_cast<std::size_t>(example)) ? 1 : 0;
    }
    examples.resize(kept);
}

// last: the last rank that is not above the value of the condition.
RankRange ranks_kept(std::int32_t last, Operator op) {
    constexpr std::int32_t kEndless = std::numeric_limits<std::int32_t>::max();
    switch (op) {
        case Operator::less_equal: return {0, last + 1, false};
        case Operator::greater: return {last + 1, kEndless, false};
        default: return {last, 1, op == Operator::not_equal};
    }
}

}  // namespace

void Search::sum_up(Region& region, const std::vector<double>& weights, const Gradients& gradients,
                    Interrupt& interrupt) {
    const ActivityScope summing(activity(), Activity::summing);
    region.weight = total_weight(weights, region.sample);
    region.summed_weight = region.weight;
    region.total = sum_examples(form_, gradients, weights, region.sample, pool_, interrupt);
}

void Search::begin_rule(Coverage& coverage, const Gradients& gradients, Interrupt& interrupt) {
    sample_rows_.forget();
    errands_.clear();
    coverage.unswept_all = false;
    coverage.unswept_sample = 0;
    coverage.unfiltered = {};
    std::fill(dropped_.begin(), dropped_.end(), 0);
    sum_up(coverage, coverage.weights, gradients, interrupt);
}

void Search::sum_up_parts(const Region& whole, Region& left, Region& right, const std::vector<double>& weights,
                          const Gradients& gradients, Interrupt& interrupt) {
    Region& smaller = left.sample.size() < right.sample.size() ? left : right;
    Region& larger = &smaller == &left ? right : left;
    sum_up(smaller, weights, gradients, interrupt);
    if (has_shrunk(whole.weight - smaller.weight, whole.summed_weight)) {
        sum_up(larger, weights, gradients, interrupt);
        return;
    }
    larger.total.resize(form_.size());
    active_kernels().subtract(larger.total.data(), whole.total.data(), smaller.total.data(), form_.size());
    larger.weight = whole.weight - smaller.weight;
    larger.summed_weight = whole.summed_weight;
}

// Few dropped examples are subtracted, many left behind: the cheaper way is taken, but for sums that have shrunk a lot.
void Search::drop_from_total(Coverage& coverage, const std::vector<std::int32_t>& dropped, const Gradients& gradients,
                             Interrupt& interrupt) {
    const ActivityScope summing(activity(), Activity::summing);
    const double weight = total_weight(coverage.weights, dropped);
    if (has_shrunk(coverage.weight - weight, coverage.summed_weight) || dropped.size() >= coverage.sample_size()) {
        sweep_sample(coverage);
        sum_up(coverage, coverage.weights, gradients, interrupt);
        return;
    }
    subtract_examples(form_, gradients, coverage.weights, dropped, coverage.total.data(), pool_, interrupt);
    coverage.weight -= weight;
}

void Search::restrict(Coverage& coverage, const Refinement& refinement, const Gradients& gradients,
                      Interrupt& interrupt) {
    const auto& [condition, split, quality] = refinement;
    const Column& column = columns_.features[static_cast<std::size_t>(condition.feature)];
    const std::int32_t last =
        column.nominal ? split.below
                       : column.last_rank_up_to(condition.value, static_cast<std::size_t>(split.below) + 1,
                                                static_cast<std::size_t>(split.above));
    const RankRange keeps = ranks_kept(last, condition.op);
    if (column.rank_of.empty() && !keeps.drops(column.implicit_rank)) {
        mark(coverage, column, keeps);
    } else {
        sweep_sample(coverage);
        filter(coverage, column, keeps);
    }
    if (!column.rank_of.empty()) {
        filter_all(coverage);  // what has not been seen to yet, if anything
        coverage.unfiltered = {&column, last, condition.op};
        also({.is_short = true, .run = [&coverage] { filter_all(coverage); }});
    }
    drop_from_total(coverage, dropped_sample_, gradients, interrupt);
}

void Search::mark(Coverage& coverage, const Column& column, const RankRange& keeps) {
    dropped_sample_.clear();
    const auto drop = [&](std::int32_t example) {
        const auto i = static_cast<std::size_t>(example);
        dropped_[i] = 1;
        if (std::exchange(coverage.sampled[i], std::uint8_t{0}) != 0) dropped_sample_.push_back(example);
    };
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        if (keeps.drops(column.rank[i])) drop(column.example[i]);
    }
    for (const std::int32_t example : column.missing) drop(example);
    sort_dropped();
    coverage.unswept_all = true;
    coverage.unswept_sample += dropped_sample_.size();
}

// Sums are always formed in this order, so that they are the same in every bit.
void Search::sort_dropped() {
    constexpr std::size_t kBits = 64, kWordsPerExample = 2;
    std::vector<std::int32_t>& examples = dropped_sample_;
    if (std::ranges::is_sorted(examples)) return;
    bits_.resize((dropped_.size() + kBits - 1) / kBits, 0);
    if (bits_.size() > kWordsPerExample * examples.size()) {
        std::ranges::sort(examples);
        return;
    }
    for (const std::int32_t example : examples) {
        bits_[static_cast<std::size_t>(example) / kBits] |= std::uint64_t{1} << static_cast<std::size_t>(example) % kBits;
    }
    std::size_t sorted = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word) {
        for (std::uint64_t bits = std::exchange(bits_[word], 0); bits != 0; bits &= bits - 1) {
            examples[sorted++] = static_cast<std::int32_t>(word * kBits) + std::countr_zero(bits);
        }
    }
}

void Search::sweep_sample(Coverage& coverage) {
    if (coverage.unswept_sample == 0) return;
    keep_if(coverage.sample, [&](std::size_t example) { return coverage.sampled[example] != 0; });
    coverage.unswept_sample = 0;
}

void Search::complete(Coverage& coverage) const {
    filter_all(coverage);
    if (!coverage.unswept_all) return;
    keep_if(coverage.all, [&](std::size_t example) { return dropped_[example] == 0; });
    coverage.unswept_all = false;
}

// Of a feature that has the rank of every example, the list of all is left for later.
void Search::filter(Coverage& coverage, const Column& column, const RankRange& keeps) {
    std::vector<std::int32_t>& sample = coverage.sample;
    dropped_sample_.resize(sample.size());
    std::size_t kept = 0;
    const std::size_t count = sample.size();
    if (!column.rank_of.empty()) {
        kept = active_kernels().keep_ranks(sample.data(), count, column.rank_of.data(), keeps, sample.data(),
                                           dropped_sample_.data());
    } else {
        // Only listed examples are looked at one by one.
        complete(coverage);
        std::fill(dropped_.begin(), dropped_.end(), std::uint8_t{keeps.drops(column.implicit_rank)});
        for (std::size_t i = 0; i < column.example.size(); ++i) {
            dropped_[static_cast<std::size_t>(column.example[i])] = keeps.drops(column.rank[i]);
        }
        for (const std::int32_t example : column.missing) dropped_[static_cast<std::size_t>(example)] = 1;
        keep_if(coverage.all, [&](std::size_t example) { return dropped_[example] == 0; });
        for (std::size_t i = 0, dropped = 0; i < count; ++i) {
            const std::int32_t example = sample[i];
            const std::size_t drop = dropped_[static_cast<std::size_t>(example)];
            dropped_sample_[dropped] = sample[kept] = example;
            dropped += drop;
            kept += 1 - drop;
        }
    }
    sample.resize(kept);
    dropped_sample_.resize(count - kept);
    for (const std::int32_t example : dropped_sample_) coverage.sampled[static_cast<std::size_t>(example)] = 0;
}

void Search::filter_all(Coverage& coverage) {
    const Column* const column = coverage.unfiltered.column;
    if (column == nullptr) return;
    std::vector<std::int32_t>& all = coverage.all;
    const RankRange keeps = ranks_kept(coverage.unfiltered.last_rank, coverage.unfiltered.op);
    all.resize(active_kernels().keep_ranks(all.data(), all.size(), column->rank_of.data(), keeps, all.data(), nullptr));
    coverage.unfiltered = {};
}

void Search::partition(const Division& division, const std::vector<std::int32_t>& examples,
                       std::vector<std::int32_t>& left, std::vector<std::int32_t>& right) {
    const Column& column = columns_.features[static_cast<std::size_t>(division.condition.feature)];
    const std::int32_t last = column.last_rank_up_to(division.condition.value);
    const bool equal = division.condition.op == Operator::equal;
    const auto goes_right = [&](std::int32_t rank) -> std::uint8_t { return equal ? rank != last : rank > last; };
    const auto missing = static_cast<std::uint8_t>(!division.missing_left);
    if (column.rank_of.empty()) {
        const std::uint8_t implicit = goes_right(column.implicit_rank);
        for (const std::int32_t example : examples) dropped_[static_cast<std::size_t>(example)] = implicit;
        for (std::size_t i = 0; i < column.example.size(); ++i) {
            dropped_[static_cast<std::size_t>(column.example[i])] = goes_right(column.rank[i]);
        }
        for (const std::int32_t example : column.missing) dropped_[static_cast<std::size_t>(example)] = missing;
    } else {
        for (const std::int32_t example : examples) {
            const std::int32_t rank = column.rank_of[static_cast<std::size_t>(example)];
            dropped_[static_cast<std::size_t>(example)] = rank < 0 ? missing : goes_right(rank);
        }
    }
    left.resize(examples.size());
    right.resize(examples.size());
    std::size_t lefts = 0, rights = 0;
    for (const std::int32_t example : examples) {
        const std::uint8_t to_the_right = dropped_[static_cast<std::size_t>(example)];
        left[lefts] = right[rights] = example;
        rights += to_the_right;
        lefts += 1 - to_the_right;
    }
    left.resize(lefts);
    right.resize(rights);
}

}  // namespace labelboost
