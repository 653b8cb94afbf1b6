// Candidates of features with few values, or bins of them: all examples are added up by value, in the order in which they
// lie in memory, for several features at once. First in the form of profiles, which most features are ruled out with,
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

void Search::bound_by_histograms(const Task& task, const std::vector<Place>& places,
                                 std::vector<FeatureCandidates>& candidates) {
    const std::vector<std::int32_t>& sample = task.coverage.sample;
    std::vector<std::size_t> suitable;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (Listing::counting_pays(column(places[i]), sample.size())) suitable.push_back(i);
    }
    if (suitable.empty()) return;
    if (profiles_.size() < places.size()) profiles_.resize(places.size());
    for (const std::size_t i : suitable) profiles_[i].start(column(places[i]), form_.labels);
    const std::size_t row_bytes = profile_rows_.tiles().size * sizeof(double);
    const auto bytes = [&](std::size_t i) { return profiles_[i].counts().size() * row_bytes; };
    for_each_group(suitable, bytes, [&](std::span<const std::size_t> group) {
        run_group(task, group, [&](std::size_t i, Scratch&) { profiles_[i].clear(); });
        add_up_in_chunks(
            profile_rows_, sample.size(), ProfileHistogram::kChunk, ProfileHistogram::kPeriod, group.size(), pool_,
            task.interrupt,
            [&](std::size_t first, std::size_t count) {
                const ActivityScope summing(activity(), Activity::summing);
                const std::span<const std::int32_t> examples = std::span(sample).subspan(first, count);
                profile_rows_.fill(task.gradients, task.coverage.weights, examples, anchor_.head(), pool_,
                                   task.interrupt);
                run_group(task, group, [&](std::size_t i, Scratch&) { profiles_[i].find_places(examples); });
            },
            [&](std::size_t h, std::size_t, std::size_t tile, std::size_t thread) {
                const ActivityScope summing(scratch_[thread].activity, Activity::summing);
                profiles_[group[h]].add(profile_rows_, tile);
            },
            [&](std::size_t h) { profiles_[group[h]].settle(); });
        run_group(task, group, [&](std::size_t i, Scratch& scratch) {
            FeatureCandidates& out = candidates[i];
            profiles_[i].settle();
            scratch.listing = &scratch.own_listing;
            scratch.listing->collect_counts(column(places[i]), profiles_[i].counts());
            out.quality.assign(2 * scratch.listing->splits(), kInfinity);
            scratch.walk.start(profiles_[i], *scratch.listing, anchor_);
            bound(task, scratch, scratch.listing->pairs(), out);
            out.by_histogram = true;
        });
    });
}

// Bounds are worth their while if they rule out most features; where they did not lately, they are left out for a time.
void Search::rule_out(const Task& task, const std::vector<Place>& places,
                      std::vector<FeatureCandidates>& candidates) {
    constexpr std::size_t kFewOpen = 8, kMostSkipped = 63;
    if (bounds_skipped_ < bounds_to_skip_) {
        ++bounds_skipped_;
        return;
    }
    bounds_skipped_ = 0;
    bound_by_histograms(task, places, candidates);
    const double limit = (1.0 - kBoundMargin) * reach(task, candidates);
    const std::size_t count = task.coverage.sample.size();
    std::size_t bounded = 0, wide_open = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        FeatureCandidates& feature = candidates[i];
        if (!feature.by_histogram) continue;
        ++bounded;
        const auto open = std::count_if(feature.optimistic.begin(), feature.optimistic.end(),
                                        [&](double quality) { return quality <= limit; });
        if (static_cast<std::size_t>(open) <= kFewOpen || !packs_ || !packed_rows_.suits(column(places[i]), count)) continue;
        ++wide_open;
        feature = FeatureCandidates{};  // to be found out in another way
    }
    if (!packs_) return;
    bounds_to_skip_ = 3 * wide_open > 2 * bounded ? std::min(2 * bounds_to_skip_ + 1, kMostSkipped) : 0;
}

void Search::screen_packed(const Task& task, const std::vector<Place>& places,
                           std::vector<FeatureCandidates>& candidates) {
    const Coverage& coverage = task.coverage;
    const std::size_t size = packed_rows_.tiles().size;
    const std::size_t count = coverage.sample.size();
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
    const auto bytes = [&](std::size_t i) { return packed_[i].histogram_rows() * size * sizeof(float); };
    for_each_group(suitable, bytes, [&](std::span<const std::size_t> group) {
        const bool first_group = group.data() == suitable.data();
        run_group(task, group, [&](std::size_t i, Scratch&) { packed_[i].clear(size, packed_rows_.tile_width()); });
        if (packed_rows_.direct()) {
            const ActivityScope summing(activity(), Activity::summing);
            std::vector<PackedFeature*> features;
            for (const std::size_t i : group) features.push_back(&packed_[i]);
            packed_rows_.add_up_directly(task.gradients, coverage.weights, coverage.sample, features, pool_,
                                         task.interrupt);
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
                packed_[i].walk_exactly(scratch.packed);
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

}  // namespace labelboost
