#include "search.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace labelboost {
namespace {

constexpr std::int32_t kImplicit = -2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWorkBetweenChecks = 1e6;
// How far, relatively, an approximate quality may be off: generous for what the screening vouches for.
constexpr double kScreenMargin = 1e-3;

// A value between two neighbouring ones that separates them for certain, even where they are so close that
// their middle rounds to one of them.
double midpoint(double a, double b) {
    const double middle = 0.5 * a + 0.5 * b;
    return a <= middle && middle < b ? middle : a;
}

double threshold(const Column& column, FeatureCandidates::Split split) {
    const auto below = static_cast<std::size_t>(split.below);
    const auto above = static_cast<std::size_t>(split.above);
    // Bins have fixed boundaries; none between the two, though empty in the sample, may be cut in two.
    return midpoint(column.high[below], column.low[column.binned ? below + 1 : above]);
}

// The best of all qualities, exact or approximate, that are known.
double best_quality(const std::vector<FeatureCandidates>& candidates) {
    double best = kInfinity;
    for (const FeatureCandidates& feature : candidates) {
        for (const double quality : feature.quality) {
            if (quality > -kInfinity) best = std::min(best, quality);
        }
    }
    return best;
}

// The position of the group without listed examples, or the number of groups.
template <typename Group>
std::size_t implicit_group(const std::vector<Group>& groups) {
    const auto found = std::find_if(groups.begin(), groups.end(), [](const Group& g) { return g.begin == g.end; });
    return static_cast<std::size_t>(found - groups.begin());
}

// Filtering a sorted list costs a step per listed example, collecting and sorting about two log2(n) steps per
// covered one.
bool cheaper_to_sort(std::size_t covered, std::size_t listed) {
    return 2 * covered * std::bit_width(covered) < listed;
}

}  // namespace

Search::Search(const Columns& columns, const Settings& settings, const Form& form, ThreadPool& pool)
    : columns_(columns), settings_(settings), form_(form), pool_(pool), rank_lookup_(columns.examples, kImplicit) {
    for (std::size_t thread = 0; thread < pool.size(); ++thread) scratch_.emplace_back(form_, settings_);
}

std::optional<Search::Refinement> Search::refine(const Coverage& coverage, const Gradients& gradients,
                                                 const std::vector<std::int32_t>& features, double incumbent,
                                                 double root_noise, Interrupt& interrupt) {
    std::vector<FeatureCandidates> candidates(features.size());
    find_candidates({coverage, gradients, interrupt}, features, incumbent, candidates);
    const double best = best_quality(candidates);
    for (std::size_t i = 0; i < features.size(); ++i) {
        const std::vector<double>& quality = candidates[i].quality;
        const auto found = std::find_if(quality.begin(), quality.end(),
                                        [&](double q) { return q <= best + kTie * std::abs(best); });
        if (found == quality.end()) continue;
        if (!(*found < incumbent - kTie * std::abs(incumbent) - root_noise)) return std::nullopt;
        const auto position = static_cast<std::size_t>(found - quality.begin());
        const FeatureCandidates::Split split = candidates[i].splits[position / 2];
        const bool first = position % 2 == 0;
        const Column& column = columns_.features[static_cast<std::size_t>(features[i])];
        if (column.nominal) {
            return Refinement{{features[i], first ? Operator::equal : Operator::not_equal,
                               column.low[static_cast<std::size_t>(split.below)]},
                              *found};
        }
        return Refinement{{features[i], first ? Operator::less_equal : Operator::greater, threshold(column, split)},
                          *found};
    }
    return std::nullopt;
}

// In the end the qualities of all that come within rounding of the best are exact; screened candidates that
// are certainly worse than that, or than the incumbent, have an infinite one.
void Search::find_candidates(const Task& task, const std::vector<std::int32_t>& features, double incumbent,
                             std::vector<FeatureCandidates>& candidates) {
    const auto for_each_feature = [&](const auto& work) {
        pool_.run(features.size(), task.interrupt, [&](std::size_t i, std::size_t thread) {
            work(columns_.features[static_cast<std::size_t>(features[i])], scratch_[thread], candidates[i]);
        });
        for (Scratch& scratch : scratch_) scratch.scorer.flush();
    };
    for (Scratch& scratch : scratch_) scratch.scorer.begin(kNoise * task.coverage.weight, task.interrupt);
    for_each_feature([&](const Column& column, Scratch& scratch, FeatureCandidates& feature) {
        scan(task, column, scratch, feature);
    });
    const double reach = std::min(best_quality(candidates), incumbent);
    const double limit = reach + kScreenMargin * std::abs(reach);
    for_each_feature([&](const Column& column, Scratch& scratch, FeatureCandidates& feature) {
        if (feature.approximate) confirm(task, column, scratch, limit, feature);
    });
}

// Fills `groups` in ascending order of rank, the implicit one included; `missing` counts covered examples
// without a value and `scratch.total` receives the sums of all the others.
void Search::collect_groups(const Task& task, const Column& column, Scratch& scratch, std::size_t& missing) const {
    const Coverage& coverage = task.coverage;
    scratch.groups.clear();
    std::size_t covered = 0;
    if (!column.rank_of.empty() && cheaper_to_sort(coverage.sample.size(), column.example.size())) {
        scratch.keys.clear();
        for (const std::int32_t example : coverage.sample) {
            const std::int32_t rank = column.rank_of[static_cast<std::size_t>(example)];
            if (rank < 0) continue;
            scratch.keys.push_back(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(example));
        }
        std::sort(scratch.keys.begin(), scratch.keys.end());
        covered = scratch.keys.size();
        scratch.example.resize(covered);
        scratch.rank.resize(covered);
        for (std::size_t i = 0; i < covered; ++i) {
            scratch.example[i] = static_cast<std::int32_t>(scratch.keys[i] & 0xffffffffU);
            scratch.rank[i] = static_cast<std::int32_t>(scratch.keys[i] >> 32);
        }
    } else {
        // Always stored, kept only if covered: a branch here would be mispredicted all the time.
        scratch.example.resize(column.example.size());
        scratch.rank.resize(column.example.size());
        for (std::size_t i = 0; i < column.example.size(); ++i) {
            const std::int32_t example = column.example[i];
            scratch.example[covered] = example;
            scratch.rank[covered] = column.rank[i];
            covered += coverage.weights[static_cast<std::size_t>(example)] > 0.0 ? 1 : 0;
        }
        scratch.example.resize(covered);
    }
    std::size_t before_implicit = 0;
    for (std::size_t begin = 0; begin < covered;) {
        std::size_t end = begin + 1;
        while (end < covered && scratch.rank[end] == scratch.rank[begin]) ++end;
        scratch.groups.push_back({scratch.rank[begin], begin, end, end - begin});
        if (scratch.rank[begin] < column.implicit_rank) before_implicit = scratch.groups.size();
        begin = end;
    }

    const std::size_t listed = scratch.example.size();
    missing = 0;
    std::memcpy(scratch.total.data(), coverage.total.data(), form_.size() * sizeof(double));
    if (!column.missing.empty()) {
        for (const std::int32_t example : column.missing) {
            if (coverage.weights[static_cast<std::size_t>(example)] > 0.0) scratch.example.push_back(example);
        }
        missing = scratch.example.size() - listed;
        std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
        add_examples(form_, task.gradients, coverage.weights, std::span(scratch.example).subspan(listed),
                     scratch.sums.data());
        active_kernels().subtract(scratch.total.data(), coverage.total.data(), scratch.sums.data(), form_.size());
    }
    const std::size_t implicit = coverage.sample.size() - listed - missing;
    if (implicit > 0) {
        const auto place = scratch.groups.begin() + static_cast<std::ptrdiff_t>(before_implicit);
        scratch.groups.insert(place, {column.implicit_rank, 0, 0, implicit});
    }
}

void Search::scan(const Task& task, const Column& column, Scratch& scratch, FeatureCandidates& out) const {
    std::size_t missing = 0;
    collect_groups(task, column, scratch, missing);
    const std::size_t present = task.coverage.sample.size() - missing;
    if (scratch.groups.empty()) return;
    if (column.nominal) {
        // The second category of two, with nothing missing, would repeat the candidates of the first.
        const std::size_t categories = scratch.groups.size() == 2 && missing == 0 ? 1 : scratch.groups.size();
        for (std::size_t g = 0; g < categories; ++g) out.splits.push_back({scratch.groups[g].rank, 0});
    } else {
        for (std::size_t g = 0; g + 1 < scratch.groups.size(); ++g) {
            out.splits.push_back({scratch.groups[g].rank, scratch.groups[g + 1].rank});
        }
    }
    out.quality.assign(2 * out.splits.size(), kInfinity);
    if (column.nominal) {
        scan_nominal(task, scratch, present, out);
    } else if (Screening::possible(form_, settings_) && Screening::pays(scratch.example.size(), out.splits.size())) {
        screen_numeric(task, scratch, present, out);
    } else {
        scan_numeric(task, scratch, present, nullptr, out);
    }
}

void Search::confirm(const Task& task, const Column& column, Scratch& scratch, double limit,
                     FeatureCandidates& out) const {
    std::vector<bool> wanted(out.quality.size());
    std::transform(out.quality.begin(), out.quality.end(), wanted.begin(), [&](double q) { return q <= limit; });
    std::fill(out.quality.begin(), out.quality.end(), kInfinity);
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    std::size_t missing = 0;
    collect_groups(task, column, scratch, missing);
    scan_numeric(task, scratch, task.coverage.sample.size() - missing, &wanted, out);
}

void Search::screen_numeric(const Task& task, Scratch& scratch, std::size_t present, FeatureCandidates& out) const {
    const std::vector<Scratch::Group>& groups = scratch.groups;
    const std::size_t middle = implicit_group(groups);
    const std::size_t splits = out.splits.size();
    const std::size_t least = std::max<std::size_t>(settings_.min_coverage, 1);
    const auto append = [&](const Scratch::Group& group) {
        scratch.screening.append(task.gradients, task.coverage.weights,
                                 std::span(scratch.example).subspan(group.begin, group.end - group.begin));
    };
    // The same two lists, towards the implicit group, that an exact scan walks along.
    scratch.screening.clear();
    for (std::size_t s = 0; s < middle && s < splits; ++s) append(groups[s]);
    scratch.screening.run(scratch.total, kNoise * task.coverage.weight);
    std::size_t count = 0;
    for (std::size_t s = 0; s < middle && s < splits; ++s) {
        count += groups[s].count;
        if (count >= least) out.quality[2 * s] = static_cast<double>(scratch.screening.first(s));
        if (present - count >= least) out.quality[2 * s + 1] = static_cast<double>(scratch.screening.rest(s));
    }
    task.interrupt.check();
    scratch.screening.clear();
    for (std::size_t s = splits; s-- > middle;) append(groups[s + 1]);
    scratch.screening.run(scratch.total, kNoise * task.coverage.weight);
    count = 0;
    for (std::size_t s = splits; s-- > middle;) {
        count += groups[s + 1].count;
        if (count >= least) out.quality[2 * s + 1] = static_cast<double>(scratch.screening.first(splits - 1 - s));
        if (present - count >= least) out.quality[2 * s] = static_cast<double>(scratch.screening.rest(splits - 1 - s));
    }
    task.interrupt.check();
    out.approximate = true;
}

void Search::scan_numeric(const Task& task, Scratch& scratch, std::size_t present, const std::vector<bool>* wanted,
                          FeatureCandidates& out) const {
    const std::vector<Scratch::Group>& groups = scratch.groups;
    const std::size_t middle = implicit_group(groups);
    const auto target = [&](std::size_t i) { return wanted == nullptr || (*wanted)[i] ? &out.quality[i] : nullptr; };
    // From both ends towards the implicit group, whose examples are never touched.
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
    std::size_t count = 0;
    for (std::size_t s = 0; s < middle && s < out.splits.size(); ++s) {
        add_group(task, groups[s], scratch);
        count += groups[s].count;
        emit(scratch, count, present - count, target(2 * s), target(2 * s + 1), task.interrupt);
    }
    std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
    count = 0;
    for (std::size_t s = out.splits.size(); s-- > middle;) {
        add_group(task, groups[s + 1], scratch);
        count += groups[s + 1].count;
        emit(scratch, count, present - count, target(2 * s + 1), target(2 * s), task.interrupt);
    }
}

void Search::scan_nominal(const Task& task, Scratch& scratch, std::size_t present, FeatureCandidates& out) const {
    const std::size_t everything = task.coverage.sample.size();
    for (std::size_t s = 0; s < out.splits.size(); ++s) {
        const Scratch::Group& group = scratch.groups[s];
        std::fill(scratch.sums.begin(), scratch.sums.end(), 0.0);
        double* quality = &out.quality[2 * s];
        double* rest_quality = quality + 1;
        const std::size_t rest = present - group.count;
        if (group.begin == group.end) {  // the implicit category: everything listed is the rest
            for (const Scratch::Group& other : scratch.groups) add_group(task, other, scratch);
            emit(scratch, rest, group.count == everything ? 0 : group.count, rest_quality, quality, task.interrupt);
        } else {
            add_group(task, group, scratch);
            emit(scratch, group.count == everything ? 0 : group.count, rest, quality, rest_quality, task.interrupt);
        }
    }
}

void Search::add_group(const Task& task, const Scratch::Group& group, Scratch& scratch) const {
    add_examples(form_, task.gradients, task.coverage.weights,
                 std::span(scratch.example).subspan(group.begin, group.end - group.begin), scratch.sums.data());
    scratch.work += static_cast<double>(group.end - group.begin) * static_cast<double>(form_.size());
}

void Search::emit(Scratch& scratch, std::size_t count, std::size_t rest, double* quality, double* rest_quality,
                  Interrupt& interrupt) const {
    const std::size_t least = std::max<std::size_t>(settings_.min_coverage, 1);
    if (quality != nullptr && count >= least) {
        scratch.scorer.add(scratch.sums.data(), nullptr, quality);
    }
    if (rest_quality != nullptr && rest >= least) {
        scratch.scorer.add(scratch.total.data(), scratch.sums.data(), rest_quality);
    }
    const auto labels = static_cast<double>(form_.labels);
    scratch.work += form_.joint ? labels * labels * labels : labels;
    if (scratch.work > kWorkBetweenChecks) {
        scratch.work = 0.0;
        interrupt.check();
    }
}

void Search::sum_up(Coverage& coverage, const Gradients& gradients, Interrupt& interrupt) const {
    coverage.weight = 0.0;
    for (const std::int32_t example : coverage.sample) {
        coverage.weight += coverage.weights[static_cast<std::size_t>(example)];
    }
    coverage.summed_weight = coverage.weight;
    coverage.total = sum_examples(form_, gradients, coverage.weights, coverage.sample, pool_, interrupt);
}

// Few dropped examples are subtracted, many left behind: the cheaper way is taken, but for sums that have
// shrunk so much since they were last added up that old rounding errors would start to show.
void Search::drop_from_total(Coverage& coverage, const std::vector<std::int32_t>& dropped, const Gradients& gradients,
                             Interrupt& interrupt) const {
    constexpr double kMostShrinking = 16.0;
    double weight = 0.0;
    for (const std::int32_t example : dropped) weight += coverage.weights[static_cast<std::size_t>(example)];
    const bool shrunk = kMostShrinking * (coverage.weight - weight) < coverage.summed_weight;
    if (shrunk || dropped.size() >= coverage.sample.size()) {
        sum_up(coverage, gradients, interrupt);
        return;
    }
    const AlignedVector part = sum_examples(form_, gradients, coverage.weights, dropped, pool_, interrupt);
    active_kernels().subtract(coverage.total.data(), coverage.total.data(), part.data(), form_.size());
    coverage.weight -= weight;
}

void Search::restrict(Coverage& coverage, const Condition& condition, const Gradients& gradients,
                      Interrupt& interrupt) {
    const Column& column = columns_.features[static_cast<std::size_t>(condition.feature)];
    const std::vector<std::int32_t>* rank_of = &column.rank_of;
    if (column.rank_of.empty()) {
        for (std::size_t i = 0; i < column.example.size(); ++i) {
            rank_lookup_[static_cast<std::size_t>(column.example[i])] = column.rank[i];
        }
        for (const std::int32_t example : column.missing) rank_lookup_[static_cast<std::size_t>(example)] = -1;
        rank_of = &rank_lookup_;
    }
    const std::int32_t last = column.last_rank_up_to(condition.value);
    const auto dropped = [&](std::int32_t example) {
        std::int32_t rank = (*rank_of)[static_cast<std::size_t>(example)];
        if (rank == kImplicit) rank = column.implicit_rank;
        if (rank < 0) return true;
        switch (condition.op) {
            case Operator::less_equal: return rank > last;
            case Operator::greater: return rank <= last;
            case Operator::equal: return rank != last;
            case Operator::not_equal: return rank == last;
        }
        return true;
    };
    std::vector<std::int32_t> dropped_sample;
    std::erase_if(coverage.sample, [&](std::int32_t example) {
        if (!dropped(example)) return false;
        dropped_sample.push_back(example);
        return true;
    });
    std::erase_if(coverage.all, dropped);
    if (column.rank_of.empty()) {
        for (const std::int32_t example : column.example) rank_lookup_[static_cast<std::size_t>(example)] = kImplicit;
        for (const std::int32_t example : column.missing) rank_lookup_[static_cast<std::size_t>(example)] = kImplicit;
    }
    drop_from_total(coverage, dropped_sample, gradients, interrupt);
    for (const std::int32_t example : dropped_sample) coverage.weights[static_cast<std::size_t>(example)] = 0.0;
}

}  // namespace labelboost
