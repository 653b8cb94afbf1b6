// Candidates of features with few values, or bins of them: all examples are added up by value, in the order in which they
// lie in memory, for several features at once. First in the form of residuals, which most features are ruled out with,
// and then, where the problem allows it, in the form of whole systems.
#include <algorithm>
#include <limits>

#include "search.hpp"

namespace labelboost {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Features are taken in groups whose histograms fit into the cache, or nearly so. bytes(i): of the histogram of feature i.
template <typename Bytes, typename Work>
void for_each_group(std::span<const std::size_t> features, const Bytes& bytes, const Work& work) {
    constexpr std::size_t kBytesOfGroup = 1U << 23;
    for (std::size_t begin = 0, end = 0; begin < features.size(); begin = end) {
        std::size_t total = 0;
        while (end < features.size() && (end == begin || total < kBytesOfGroup)) total += bytes(features[end++]);
        work(features.subspan(begin, end - begin));
    }
}

}  // namespace

double Search::reach(const Task& task, const std::vector<FeatureCandidates>& candidates) {
    double quality = task.incumbent.worst;
    for (const FeatureCandidates& feature : candidates) quality = std::min({quality, feature.best, feature.attained});
    return quality;
}

template <typename Work>
void Search::run_group(const Task& task, std::span<const std::size_t> group, const Work& work) {
    pool_.run(group.size(), task.interrupt,
              [&](std::size_t number, std::size_t thread) { work(group[number], scratch_[thread]); });
}

// work(some of the features, scratch): each thread has its share.
template <typename Work>
void Search::for_each_share(std::span<const std::size_t> features, const Work& work, Interrupt& interrupt) {
    const std::size_t shares = std::min(pool_.in_use(), features.size());
    pool_.run(shares, interrupt, [&](std::size_t number, std::size_t thread) {
        const std::size_t begin = number * features.size() / shares, end = (number + 1) * features.size() / shares;
        work(features.subspan(begin, end - begin), scratch_[thread]);
    });
}

void Search::bound_by_histograms(const Task& task, const std::vector<Place>& places, std::span<const std::size_t> features,
                                 std::vector<FeatureCandidates>& candidates) {
    if (histograms_.size() < places.size()) histograms_.resize(places.size());
    const auto bytes = [&](std::size_t i) {
        return column(places[i]).ranks() * residual_row_size(form_.labels) * sizeof(float);
    };
    const auto bound_some = [&](std::span<const std::size_t> group, Scratch& scratch) {
        std::vector<RankHistogram*> histograms;
        for (const std::size_t i : group) {
            residual_bounds_.start(histograms_[i], column(places[i]));
            histograms.push_back(&histograms_[i]);
        }
        {
            const ActivityScope summing(scratch.activity, Activity::summing);
            residual_bounds_.add_up(task.gradients, task.coverage.weights, task.coverage.sample, histograms, scratch.adder,
                                    task.interrupt);
        }
        for (const std::size_t i : group) {
            scratch.own_listing.collect_counts(column(places[i]), histograms_[i].counts());
            bound(task, scratch, histograms_[i], candidates[i]);
        }
    };
    for_each_share(features, [&](std::span<const std::size_t> share, Scratch& scratch) {
        for_each_group(share, bytes, [&](std::span<const std::size_t> group) { bound_some(group, scratch); });
    }, task.interrupt);
}

// The candidates of a feature with this histogram, from which the listing was made.
void Search::bound(const Task& task, Scratch& scratch, const RankHistogram& histogram, FeatureCandidates& out) const {
    const ActivityScope evaluating(scratch.activity, Activity::evaluating);
    Listing& listing = scratch.own_listing;
    const double rounding = residual_bounds_.rounding(histogram);
    const std::size_t size = residual_bounds_.sums_size();
    out.by_histogram = true;
    out.quality.assign(2 * listing.splits(), kInfinity);
    out.optimistic.assign(out.quality.size(), kInfinity);
    AlignedVector part(size), removed(size), missing(size, 0.0);
    residual_bounds_.add_missing(histogram, missing);
    const auto note = [&](std::uint32_t slot, std::uint32_t count, const GainBounds& gain) {
        if (count < least_coverage()) return;
        out.optimistic[slot] = optimistic_quality(gain);
        if (-gain.lower < out.attained) out.attained = -gain.lower;
    };
    for (const CandidatePair& pair : listing.pairs()) {
        if (pair.starts_anew) std::fill(part.begin(), part.end(), 0.0);
        residual_bounds_.add_rank(histogram, static_cast<std::size_t>(listing.added_rank(pair)), part);
        for (std::size_t c = 0; c < size; ++c) removed[c] = part[c] + missing[c];
        note(pair.rest_slot(), pair.rest_count, residual_bounds_.rest_bounds(removed, rounding));
        note(pair.part_slot, pair.part_count, residual_bounds_.part_bounds(part, rounding));
        count_work(scratch, static_cast<double>(2 * size), task.interrupt);
    }
}

// Bounds are worth their while if they rule out most features; where they did not lately, they are left out for a time.
void Search::rule_out(const Task& task, const std::vector<Place>& places,
                      std::vector<FeatureCandidates>& candidates) {
    constexpr std::size_t kMostSkipped = 63;
    if (bounds_skipped_ < bounds_to_skip_) {
        ++bounds_skipped_;
        return;
    }
    bounds_skipped_ = 0;
    const std::size_t count = task.coverage.sample_size();
    std::vector<std::size_t> suitable;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (Listing::counting_pays(column(places[i]), count)) suitable.push_back(i);
    }
    if (suitable.empty()) return;
    residual_bounds_.start(anchor_.head(), task.coverage.total, anchor_.noise());
    bound_by_histograms(task, places, suitable, candidates);
    if (!packs_) return;
    constexpr std::ptrdiff_t kFewOpen = 8;
    const double limit = (1.0 - kBoundMargin) * reach(task, candidates);
    const auto possible = [&](double quality) { return quality <= limit; };
    std::size_t wide_open = 0;
    for (const std::size_t i : suitable) {
        if (std::ranges::count_if(candidates[i].optimistic, possible) <= kFewOpen ||
            !packed_rows_.suits(column(places[i]), count)) {
            continue;
        }
        ++wide_open;
        candidates[i] = FeatureCandidates{};  // to be found out in another way
    }
    bounds_to_skip_ = 3 * wide_open > 2 * suitable.size() ? std::min(2 * bounds_to_skip_ + 1, kMostSkipped) : 0;
}

void Search::screen_packed(const Task& task, const std::vector<Place>& places,
                           std::vector<FeatureCandidates>& candidates) {
    const Coverage& coverage = task.coverage;
    const std::size_t size = packed_rows_.tiles().size;
    const std::size_t count = coverage.sample_size();
    const std::size_t chunk = std::min(count, packed_rows_.capacity());
    std::vector<std::size_t> suitable;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!candidates[i].by_histogram && packed_rows_.suits(column(places[i]), count)) suitable.push_back(i);
    }
    if (suitable.empty()) return;
    if (settings_.trees) {
        for (std::size_t i = 0; i < count; ++i) {
            position_[static_cast<std::size_t>(coverage.sample[i])] = static_cast<std::int32_t>(i);
        }
    }
    if (packed_.size() < places.size()) packed_.resize(places.size());
    run_group(task, suitable, [&](std::size_t i, Scratch&) {
        packed_[i].start(column(places[i]), coverage.sample, coverage.sampled, coverage.multiplicity, position_);
    });
    std::erase_if(suitable, [&](std::size_t i) { return !packed_[i].reliable(); });
    std::size_t listed = 0, splits = 0, fewest_values = count;
    bool any_implicit = false;
    for (const std::size_t i : suitable) {
        fewest_values = std::min(fewest_values, packed_[i].splits() + 1);
        any_implicit = any_implicit || packed_[i].any_implicit();
        listed += packed_[i].listed();
        splits += packed_[i].splits();
    }
    if (!packed_rows_.pays(count, listed, splits)) return;
    const double noise = kNoise * coverage.weight;
    for (Scratch& scratch : scratch_) scratch.packed.begin(noise, scratch.screening.task(noise, scratch.activity));
    AlignedVector sums(size, 0.0);
    FloatVector total(size);
    const auto bytes = [&](std::size_t i) { return packed_[i].histogram_rows() * packed_rows_.histogram_size() * sizeof(float); };
    for_each_group(suitable, bytes, [&](std::span<const std::size_t> group) {
        const bool first_group = group.data() == suitable.data();
        run_group(task, group, [&](std::size_t i, Scratch&) { packed_[i].clear(packed_rows_); });
        if (packed_rows_.sorted()) {
            PackBatch batch;
            const PackTask examples = batch.gather(task.gradients, coverage.weights, coverage.sample, 0, count, form_.labels);
            const std::size_t parts = pool_.in_use();
            pool_.run(parts * group.size(), task.interrupt, [&](std::size_t number, std::size_t thread) {
                const ActivityScope summing(scratch_[thread].activity, Activity::summing);
                PackedFeature& feature = packed_[group[number / parts]];
                feature.add_sorted(examples, feature.boundary(number % parts, parts),
                                   feature.boundary(number % parts + 1, parts), scratch_[thread].sorting, task.interrupt);
            });
        } else {
            add_up_in_chunks(
                packed_rows_, count, chunk, packed_rows_.period(fewest_values), group.size(), pool_, task.interrupt,
                [&](std::size_t first, std::size_t rows) {
                    if (!first_group && chunk == count) return;  // they are still there
                    const ActivityScope summing(activity(), Activity::summing);
                    packed_rows_.fill(task.gradients, coverage.weights,
                                      std::span(coverage.sample).subspan(first, rows), pool_, task.interrupt);
                    if (any_implicit && first_group) packed_rows_.add_up(sums);
                },
                [&](std::size_t h, std::size_t first, std::size_t tile, std::size_t thread) {
                    const ActivityScope summing(scratch_[thread].activity, Activity::summing);
                    packed_[group[h]].add(packed_rows_, first, tile);
                },
                [&](std::size_t h) { packed_[group[h]].settle(); });
        }
        for (std::size_t c = 0; c < size; ++c) total[c] = static_cast<float>(sums[c]);
        run_group(task, group, [&](std::size_t i, Scratch& scratch) {
            const ActivityScope evaluating(scratch.activity, Activity::evaluating);
            if (!settings_.trees) {
                packed_[i].walk_exactly(scratch.packed, packed_rows_.scored_places());
                return;
            }
            if (places[i].missing == Missing::right && !packed_[i].any_missing()) return;
            const Missing side = places[i].missing;
            packed_[i].walk(total, side == Missing::left, side == Missing::right, scratch.packed);
        });
    });
    for (Scratch& scratch : scratch_) scratch.packed.flush();
    const std::size_t covered = coverage.count(coverage.sample);
    for (const std::size_t i : suitable) {
        const PackedFeature& feature = packed_[i];
        const bool left = places[i].missing == Missing::left;
        candidates[i].screened = true;
        if (places[i].missing == Missing::right && !feature.any_missing()) continue;
        note_contenders(
            [&](const auto& visit) {
                for (std::uint32_t s = 0; s < feature.splits(); ++s) {
                    const std::size_t before = feature.before(s, left);
                    if (settings_.trees) {
                        const double quality = feature.left_quality(s) + feature.right_quality(s);
                        if (eligible(before, covered - before)) visit(2 * s, quality);
                        continue;
                    }
                    if (before >= least_coverage()) visit(2 * s, feature.left_quality(s));
                    if (feature.present() - before >= least_coverage()) visit(2 * s + 1, feature.right_quality(s));
                }
            },
            candidates[i]);
    }
}

// Not where sums in single precision are too far off for gains as small as these; it is not tried again for a while then.
void Search::screen_blocks(const Task& task, const std::vector<Place>& places, std::vector<FeatureCandidates>& candidates) {
    constexpr std::size_t kMostSkipped = 63;
    const Coverage& coverage = task.coverage;
    const std::size_t count = coverage.sample_size();
    std::vector<std::size_t> suitable;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!candidates[i].screened && BlockedFeature::pays(column(places[i]), count)) suitable.push_back(i);
    }
    if (suitable.empty()) return;
    if (blocks_skipped_ < blocks_to_skip_) {
        ++blocks_skipped_;
        return;
    }
    blocks_skipped_ = 0;
    if (blocked_.size() < places.size()) blocked_.resize(places.size());
    const double noise = kNoise * coverage.weight;
    std::vector<double> reached(places.size(), 0.0);
    for_each_share(suitable, [&](std::span<const std::size_t> share, Scratch& scratch) {
        std::vector<RankHistogram*> histograms;
        for (const std::size_t i : share) {
            blocked_[i].start(column(places[i]), count, form_.labels);
            histograms.push_back(&blocked_[i].histogram());
        }
        const ActivityScope summing(scratch.activity, Activity::summing);
        BlockedFeature::add_up(task.gradients, coverage.weights, coverage.sample, form_.labels, histograms, scratch.adder,
                               task.interrupt);
        for (const std::size_t i : share) reached[i] = blocked_[i].find_bounds(settings_, noise, least_coverage());
    }, task.interrupt);
    const double gain = std::max(-reach(task, candidates), *std::ranges::max_element(reached));
    struct Block {
        std::size_t place, number;
        std::vector<RankFinding> findings;
    };
    std::vector<Block> open;
    bool reliable = true;
    for (const std::size_t i : suitable) {
        for (std::size_t b = 0; b < blocked_[i].blocks(); ++b) {
            if (blocked_[i].most_gained(b) < (1.0 - kScreenMargin) * gain) continue;
            reliable = reliable && blocked_[i].is_reliable(b, gain);
            open.push_back({i, b, {}});
        }
    }
    blocks_to_skip_ = reliable ? 0 : std::min(2 * blocks_to_skip_ + 1, kMostSkipped);
    if (!reliable) return;
    pool_.run(open.size(), task.interrupt, [&](std::size_t number, std::size_t thread) {
        const ActivityScope evaluating(scratch_[thread].activity, Activity::evaluating);
        Block& block = open[number];
        blocked_[block.place].walk(block.number, ranked(task), settings_, noise, -(1.0 - kScreenMargin) * gain,
                                   least_coverage(), block.findings);
    });
    for (const std::size_t i : suitable) candidates[i].screened = candidates[i].by_rank = true;
    for (const Block& block : open) {
        FeatureCandidates& feature = candidates[block.place];
        for (const RankFinding& finding : block.findings) {
            feature.contenders.push_back(finding);
            feature.best = std::min(feature.best, finding.quality);
        }
    }
}

}  // namespace labelboost
