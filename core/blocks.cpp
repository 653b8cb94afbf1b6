#include "blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "screening.hpp"

namespace labelboost {
namespace {

// With one label in a head the best gain counts, otherwise the sum of all.
void take_gain(double gain, bool single, double& total) { total = single ? std::max(total, gain) : total + gain; }

// visit(example, rank), for the covered examples of ranks from `first` to before `behind`, in their order.
template <typename Visit>
void for_each_covered(const Column& column, const std::vector<std::uint8_t>& sampled, std::int32_t first,
                      std::int32_t behind, const Visit& visit) {
    auto i = static_cast<std::size_t>(std::ranges::lower_bound(column.rank, first) - column.rank.begin());
    for (; i < column.rank.size() && column.rank[i] < behind; ++i) {
        const std::int32_t example = column.example[i];
        if (sampled[static_cast<std::size_t>(example)] != 0) visit(example, column.rank[i]);
    }
}

}  // namespace

bool BlockedFeature::possible(const Form& form, const Settings& settings) {
    return !form.joint && !settings.trees && Screening::possible(form, settings);
}

bool BlockedFeature::pays(const Column& column, std::size_t covered) {
    constexpr std::size_t kFewestExamples = 1U << 14, kFewestRanks = 1U << 12;
    return !column.nominal && !column.rank_of.empty() && covered >= kFewestExamples && column.ranks() >= kFewestRanks;
}

// The more blocks, the more bounds, and the fewer examples in the blocks that are left.
std::size_t BlockedFeature::most_blocks(std::size_t covered) {
    constexpr std::size_t kMostBlocks = 256;
    const auto root = static_cast<std::size_t>(std::sqrt(static_cast<double>(covered)));
    return std::min(std::bit_floor(root / 3), kMostBlocks);
}

void BlockedFeature::start(const Column& column, std::size_t covered, std::size_t labels) {
    column_ = &column;
    labels_ = labels;
    const auto shift = static_cast<int>(std::bit_width((column.ranks() - 1) / most_blocks(covered)));
    histogram_.start(column, signed_row_size(labels), 3 * labels, shift);
}

void BlockedFeature::add_up(const Gradients& gradients, const std::vector<double>& weights,
                            std::span<const std::int32_t> examples, std::size_t labels,
                            std::span<RankHistogram* const> histograms, RankAdder& adder, Interrupt& interrupt) {
    // Few examples of a block are added up in single precision, so that small gains can be told from each other.
    constexpr std::size_t kExamplesPerBlock = 32;
    const std::size_t period = kExamplesPerBlock * most_blocks(examples.size());
    adder.add_up(gradients, weights, examples, labels, signed_row_size(labels), period, histograms, interrupt,
                 [](const PackTask& task, float* rows) { active_kernels().pack_signed(task, rows); });
}

void BlockedFeature::add_block(std::size_t block, Sums& sums) const {
    for (std::size_t k = 0; k < labels_; ++k) {
        sums.positive[k] += histogram_.number(block, k);
        sums.negative[k] += histogram_.number(block, labels_ + k);
        sums.hessian[k] += histogram_.number(block, 2 * labels_ + k);
    }
    sums.count += histogram_.counts()[block];
}

// Sums of gradients and, as |g| (1 - |g|) loses digits where |g| is next to 1, those of second derivatives are off by no more
// than this share of what |g| adds up to.
double BlockedFeature::rounding() const { return static_cast<double>(histogram_.longest() + 8) / (1U << 24); }

double BlockedFeature::gained_at_least(const Sums& sums, const Settings& settings, double noise) const {
    const double rounding = this->rounding();
    double total = 0.0;
    for (std::size_t k = 0; k < labels_; ++k) {
        const double error = rounding * (sums.positive[k] + sums.negative[k]);
        const double gradient = std::max(std::abs(sums.positive[k] - sums.negative[k]) - error, 0.0);
        const double curvature = sums.hessian[k] + error + settings.l2;
        if (curvature > noise) take_gain(0.5 * gradient * gradient / curvature, settings.single_head, total);
    }
    return total;
}

// A region that ends in the block has no less curvature than these sums. What was found of its gain is the less certain the
// more of its gradient and curvature may be rounding: the root of the gain is off by no more than `off`.
BlockedFeature::Bound BlockedFeature::bound(const Sums& sums, std::size_t block, const Settings& settings) const {
    const double rounding = this->rounding();
    double most = 0.0, off = 0.0;
    for (std::size_t k = 0; k < labels_; ++k) {
        const double positive = histogram_.number(block, k), negative = histogram_.number(block, labels_ + k);
        const double before = sums.positive[k] - sums.negative[k];
        const double error = rounding * (sums.positive[k] + sums.negative[k]);
        const double gradient = std::max(std::abs(before + positive), std::abs(before - negative)) + error +
                                rounding * (positive + negative);
        const double curvature = std::max(sums.hessian[k] - error, 0.0) + settings.l2;
        const double gain = 0.5 * gradient * gradient / curvature;
        const double off_by = error / std::sqrt(2.0 * curvature) + 0.5 * error / curvature * std::sqrt(gain);
        take_gain(gain, settings.single_head, most);
        take_gain(off_by * off_by, settings.single_head, off);
    }
    return {most, std::sqrt(off)};
}

double BlockedFeature::find_bounds(const Settings& settings, double noise, std::size_t least_coverage) {
    const Sums nothing{AlignedVector(labels_, 0.0), AlignedVector(labels_, 0.0), AlignedVector(labels_, 0.0)};
    before_.assign(blocks(), nothing);
    behind_.assign(blocks(), nothing);
    bounds_.assign(blocks(), {0.0, 0.0});
    for (std::size_t b = 1; b < blocks(); ++b) {
        before_[b] = before_[b - 1];
        add_block(b - 1, before_[b]);
        behind_[blocks() - 1 - b] = behind_[blocks() - b];
        add_block(blocks() - b, behind_[blocks() - 1 - b]);
    }
    double reached = 0.0;
    for (std::size_t b = 0; b < blocks(); ++b) {
        if (histogram_.counts()[b] == 0) continue;  // nothing ends there
        const Bound lower = bound(before_[b], b, settings), upper = bound(behind_[b], b, settings);
        bounds_[b] = {std::max(lower.most, upper.most), std::max(lower.off, upper.off)};
        if (b == 0 || before_[b].count == 0) continue;
        // What ends before the block.
        if (before_[b].count >= least_coverage) {
            reached = std::max(reached, gained_at_least(before_[b], settings, noise));
        }
        Sums rest = behind_[b];
        add_block(b, rest);
        if (rest.count >= least_coverage) reached = std::max(reached, gained_at_least(rest, settings, noise));
    }
    return reached;
}

bool BlockedFeature::is_reliable(std::size_t block, double gain) const {
    constexpr double kMostOff = 2e-4;
    return bounds_[block].off <= kMostOff * std::sqrt(gain);
}

void BlockedFeature::walk(std::size_t block, const RankedExamples& covered, const Settings& settings, double noise,
                          double limit, std::size_t least_coverage, std::vector<RankFinding>& findings) const {
    const Kernels& kernels = active_kernels();
    const DiagonalLayout layout(labels_);
    std::vector<std::int32_t> examples, ranks;
    const auto first = static_cast<std::int32_t>(block << histogram_.shift());
    const auto behind = static_cast<std::int32_t>(
        std::min((block + 1) << histogram_.shift(), static_cast<std::size_t>(column_->ranks())));
    for_each_covered(*column_, covered.sampled, first, behind, [&](std::int32_t example, std::int32_t rank) {
        examples.push_back(example);
        ranks.push_back(rank);
    });
    // Everything with a value: what single precision has made of the other blocks is in it and in what is before alike.
    AlignedVector sums(layout.size(), 0.0), whole;
    const auto put = [&](const Sums& from, AlignedVector& to) {
        for (std::size_t k = 0; k < labels_; ++k) {
            to[layout.gradient() + k] += from.positive[k] - from.negative[k];
            to[layout.hessian() + k] += from.hessian[k];
        }
    };
    put(before_[block], sums);
    whole = sums;
    put(behind_[block], whole);
    const Form form{false, labels_};
    add_examples(form, covered.gradients, covered.weights, examples, whole.data());
    std::size_t count = before_[block].count;
    const std::size_t all = count + examples.size() + behind_[block].count;
    const auto note = [&](std::uint32_t slot, double quality) {
        if (quality <= limit) findings.push_back({slot, quality});
    };
    for (std::size_t begin = 0, end = 0; begin < examples.size(); begin = end) {
        while (end < examples.size() && ranks[end] == ranks[begin]) ++end;
        add_examples(form, covered.gradients, covered.weights, std::span(examples).subspan(begin, end - begin), sums.data());
        count += end - begin;
        if (count == all) return;  // not a split
        const auto slot = 2 * static_cast<std::uint32_t>(ranks[begin]);
        if (count >= least_coverage) {
            note(slot, kernels.score_diagonal(sums.data(), nullptr, labels_, settings.l2, noise, settings.single_head));
        }
        if (all - count >= least_coverage) {
            note(slot + 1, kernels.score_diagonal(whole.data(), sums.data(), labels_, settings.l2, noise,
                                                  settings.single_head));
        }
    }
}

// The smaller side is added up, as the other one is a difference.
void BlockedFeature::settle(const RankedExamples& covered, const Settings& settings, double noise,
                            std::span<RankFinding> findings, std::vector<std::int32_t>& some, Interrupt& interrupt) const {
    const Form form{false, labels_};
    const auto rank_of = [](const RankFinding& finding) { return static_cast<std::int32_t>(finding.slot / 2); };
    const auto add = [&](AlignedVector& sums) {
        add_many_examples(form, covered.gradients, covered.weights, some, sums.data(), interrupt);
        some.clear();
    };
    AlignedVector sums(form.size(), 0.0), whole(form.size(), 0.0);
    some.clear();
    for (const std::int32_t example : column_->missing) {
        if (covered.sampled[static_cast<std::size_t>(example)] != 0) some.push_back(example);
    }
    add(whole);
    active_kernels().subtract(whole.data(), covered.total.data(), whole.data(), form.size());
    const auto settle_one = [&](RankFinding& finding, bool from_below) {
        const bool is_part = (finding.slot % 2 == 0) == from_below;
        finding.quality =
            active_kernels().score_diagonal(is_part ? sums.data() : whole.data(), is_part ? nullptr : sums.data(), labels_,
                                            settings.l2, noise, settings.single_head);
    };
    std::ranges::sort(findings, {}, &RankFinding::slot);
    const auto is_low = [&](const RankFinding& finding) {
        const auto block = static_cast<std::size_t>(rank_of(finding) >> histogram_.shift());
        return before_[block].count <= behind_[block].count;
    };
    const auto lows = static_cast<std::size_t>(std::ranges::partition_point(findings, is_low) - findings.begin());
    // All up to this rank is in the sums, or all above it.
    std::int32_t known = -1;
    for (RankFinding& finding : findings.first(lows)) {
        list_ranks(covered, known + 1, rank_of(finding) + 1, some);
        known = rank_of(finding);
        add(sums);
        settle_one(finding, true);
    }
    std::ranges::fill(sums, 0.0);
    known = static_cast<std::int32_t>(column_->ranks()) - 1;
    for (std::size_t i = findings.size(); i-- > lows;) {
        list_ranks(covered, rank_of(findings[i]) + 1, known + 1, some);
        known = rank_of(findings[i]);
        add(sums);
        settle_one(findings[i], false);
    }
}

// The covered examples of ranks from `first` to before `behind`: many of them in the order in which they lie in memory.
void BlockedFeature::list_ranks(const RankedExamples& covered, std::int32_t first, std::int32_t behind,
                                std::vector<std::int32_t>& out) const {
    constexpr std::size_t kMany = 16;
    if (first >= behind) return;
    if (kMany * static_cast<std::size_t>(behind - first) < column_->ranks()) {
        for_each_covered(*column_, covered.sampled, first, behind,
                         [&](std::int32_t example, std::int32_t) { out.push_back(example); });
        return;
    }
    out.resize(covered.sample.size());
    std::size_t count = 0;
    for (const std::int32_t example : covered.sample) {
        const std::int32_t rank = column_->rank_of[static_cast<std::size_t>(example)];
        out[count] = example;
        count += static_cast<std::size_t>(rank >= first) & static_cast<std::size_t>(rank < behind);
    }
    out.resize(count);
}

}  // namespace labelboost
