#include "packed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "listing.hpp"
#include "screening.hpp"

namespace labelboost {
namespace {

// Histograms of more labels take longer to fill than bounds leave to look at.
constexpr std::size_t kMostJointLabels = 32, kMostDiagonalLabels = 64, kMostTreeLabels = 96;
constexpr std::size_t kBytes = 1U << 24;  // of all rows together
// Examples whose rows stay in the cache, with the histograms of several features.
constexpr std::size_t kChunk = 1024;

}  // namespace

bool PackedRows::possible(const Form& form, const Settings& settings) {
    if (form.flat) return true;
    if (settings.trees) return settings.l2 > 0.0 && !settings.binned_candidates() && form.labels <= kMostTreeLabels;
    return form.labels <= (form.joint ? kMostJointLabels : kMostDiagonalLabels) && Screening::possible(form, settings);
}

Tiles PackedRows::tiles_for(const Form& form, const Settings& settings) {
    if (!possible(form, settings)) return {};
    const std::size_t size = form.flat        ? padded_floats(form.labels + 1)
                             : !settings.trees && form.joint ? packed_sums_size(form.labels)
                             : !settings.trees ? diagonal_row_size(form.labels)
                             : form.joint     ? padded_floats(form.labels * (form.labels + 3) / 2)
                                              : 2 * padded_floats(form.labels);
    return {size, size};
}

PackedRows::PackedRows(const Form& form, const Settings& settings)
    : TiledRows(tiles_for(form, settings)), form_(form) {
    if (!possible(form, settings)) return;
    sorted_ = !settings.trees && form.joint;
    diagonal_ = !settings.trees && !form.joint;
    capacity_ = diagonal_ ? kChunk : std::min(kBytes / sizeof(float) / tiles().size, kMostExamples);
    if (sorted_) find_places();
}

// In the order of WideJoint; the padding may be anything.
void PackedRows::find_places() {
    const SortedSums sums(form_.labels);
    const auto put = [&](std::size_t first, std::int32_t second, std::size_t place) {
        first_factors_.push_back(static_cast<std::int32_t>(first));
        second_factors_.push_back(second);
        scored_places_.push_back(static_cast<std::int32_t>(place));
    };
    for (std::size_t k = 0; k < form_.labels; ++k) put(k, RowFactors::kAlone, sums.gradient() + k);
    for (std::size_t k = 0; k < form_.labels; ++k) put(k, RowFactors::kSize, sums.additive() + k);
    for (std::size_t i = 0; i < form_.labels; ++i) {
        for (std::size_t j = i; j < form_.labels; ++j) put(i, static_cast<std::int32_t>(j), sums.product(i, j));
    }
    while (first_factors_.size() < tiles().size) put(0, 0, sums.product(0, 0));
}

bool PackedRows::suits(const Column& column, std::size_t examples) const {
    constexpr std::size_t kMostRanks = 1024, kFewestExamples = 4 * kChunk;
    const bool rules = sorted_ || diagonal_;
    if (column.nominal || (diagonal_ && examples < kFewestExamples)) return false;
    if (column.rank_of.empty()) return !rules && examples <= capacity_;
    return column.ranks() <= kMostRanks && (!rules || Listing::counting_pays(column, examples));
}

void PackedRows::fill(const Gradients& gradients, const std::vector<double>& weights,
                      std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt) {
    if (sorted_ || diagonal_) {
        batches_.resize(pool.size());
        TiledRows::fill(examples.size(), pool, interrupt,
                        [&](std::size_t begin, std::size_t end, std::size_t thread, float* rows) {
                            const PackTask task =
                                batches_[thread].gather(gradients, weights, examples, begin, end, form_.labels);
                            if (sorted_) {
                                active_kernels().pack_sums(task, {first_factors_.data(), second_factors_.data()}, rows);
                            } else {
                                active_kernels().pack_diagonal(task, rows);
                            }
                        });
        return;
    }
    scratch_.resize(pool.size(), AlignedVector(form_.sets != nullptr ? tiles().size : 0));
    TiledRows::fill(examples.size(), pool, interrupt,
                    [&](std::size_t begin, std::size_t end, std::size_t thread, float* rows) {
                        for (std::size_t i = begin; i < end; ++i, rows += tiles().size) {
                            const double weight = weights[static_cast<std::size_t>(examples[i])];
                            pack(gradients, examples[i], weight, scratch_[thread], rows);
                        }
                    });
}

void PackedRows::pack(const Gradients& gradients, std::int32_t example, double weight, AlignedVector& scratch,
                      float* out) const {
    const double* const gradient = form_.flat ? gradients.gradient(example) : gradients.row(example);
    if (form_.flat) {
        out[0] = static_cast<float>(weight);
        for (std::size_t k = 0; k < form_.labels; ++k) out[1 + k] = static_cast<float>(weight * gradient[k]);
    } else if (form_.sets != nullptr) {
        form_.sets->pack(gradients.probabilities(example), gradient, example, weight, scratch.data(), out);
    } else if (form_.joint) {
        active_kernels().pack_joint(gradient, weight, form_.labels, out);
    } else {
        for (std::size_t k = 0; k < form_.labels; ++k) {
            const double size = std::abs(gradient[k]);
            out[k] = static_cast<float>(weight * gradient[k]);
            out[tiles().size / 2 + k] = static_cast<float>(weight * size * (1.0 - size));
        }
    }
}

// In diagonal form gradients of both signs cancel each other, and nothing tells when that leaves too few digits: few
// examples of a value are added up between two settlements.
std::size_t PackedRows::period(std::size_t fewest_values) const {
    constexpr std::size_t kExamplesPerValue = 32;
    return diagonal_ ? std::clamp(kExamplesPerValue * fewest_values, kChunk, 8 * kChunk) : kMostExamples;
}

// Roughly, in vector operations. Rows cost the more per example the more there is to a Hessian, but are made once for all
// features; exact sums are worth it where few examples are listed, as in sparse data with few features drawn.
bool PackedRows::pays(std::size_t examples, std::size_t listed, std::size_t splits) const {
    // To make a row takes two passes over the labels; it saves one per listed example and four per split.
    if (form_.flat) return 2 * examples < listed + 4 * splits;
    if (!form_.joint || sorted_) return true;
    const auto labels = static_cast<double>(form_.labels);
    const double pairs = form_.sets != nullptr ? static_cast<double>(form_.sets->pairs()) : 0.0;
    const double solving = labels * labels * labels / 3.0;
    const auto size = static_cast<double>(tiles().size);
    const double packed = static_cast<double>(examples) * (pairs + size / (form_.sets != nullptr ? 1.0 : 4.0)) +
                          static_cast<double>(listed) * size / 16.0 + static_cast<double>(splits) * solving / 16.0;
    const double exact = static_cast<double>(listed) * static_cast<double>(form_.size()) / 8.0 +
                         static_cast<double>(splits) * (pairs + solving / 8.0);
    return packed < exact;
}

PackedScorer::PackedScorer(const Form& form, const Settings& settings, std::size_t size)
    : form_(form),
      single_(settings.single_head),
      sums_(!settings.trees && form.joint && size > 0),
      tight_(!settings.trees && !form.joint),
      l2_(static_cast<float>(settings.l2)),
      size_(size),
      rows_(kTogether * size + 16, 0.0f),
      system_(sums_ ? packed_scratch_size(form.labels, Screening::most_bins_per_sign(form, settings))
              : form.joint ? kTogether * size : 0) {}

void PackedScorer::add(float* quality) {
    targets_[count_++] = quality;
    if (count_ == kTogether) flush();
}

void PackedScorer::flush() {
    if (count_ == 0) return;
    const float* rows[kTogether];
    for (std::size_t i = 0; i < kTogether; ++i) rows[i] = rows_.data() + std::min(i, count_ - 1) * size_;
    alignas(64) float quality[kTogether];
    if (form_.flat) {
        active_kernels().score_packed_flat(rows, form_.labels, l2_, noise_, quality);
    } else if (sums_) {
        active_kernels().score_packed_sums(rows, task_, system_.data(), quality);
    } else if (form_.joint) {
        active_kernels().score_packed(rows, form_.labels, l2_, noise_, system_.data(), quality);
    } else {
        active_kernels().score_packed_diagonal(rows, form_.labels, tight_ ? form_.labels : size_ / 2, l2_, noise_,
                                               single_, quality);
    }
    for (std::size_t i = 0; i < count_; ++i) *targets_[i] = quality[i];
    count_ = 0;
}

void PackedFeature::start(const Column& column, const std::vector<std::int32_t>& sample,
                          const std::vector<std::uint8_t>& sampled, const std::vector<std::uint32_t>& multiplicity,
                          const std::vector<std::int32_t>& position) {
    const auto count = [&](std::int32_t example) {
        return multiplicity.empty() ? 1U : multiplicity[static_cast<std::size_t>(example)];
    };
    const std::size_t ranks = column.ranks();
    const auto missing = static_cast<std::int32_t>(ranks);
    by_rank_.assign(ranks + 1, 0);
    slot_.clear();
    listed_.clear();
    all_listed_ = !column.rank_of.empty();
    if (all_listed_) {
        slot_.resize(sample.size());
        for (std::size_t i = 0; i < sample.size(); ++i) {
            const std::int32_t rank = column.rank_of[static_cast<std::size_t>(sample[i])];
            slot_[i] = rank < 0 ? missing : rank;
            by_rank_[static_cast<std::size_t>(slot_[i])] += count(sample[i]);
        }
    } else {
        std::uint32_t implicit = 0;
        for (const std::int32_t example : sample) implicit += count(example);
        const auto list = [&](std::int32_t example, std::int32_t rank) {
            if (sampled[static_cast<std::size_t>(example)] == 0) return;
            listed_.push_back(position[static_cast<std::size_t>(example)]);
            slot_.push_back(rank);
            by_rank_[static_cast<std::size_t>(rank)] += count(example);
            implicit -= count(example);
        };
        for (std::size_t i = 0; i < column.example.size(); ++i) list(column.example[i], column.rank[i]);
        for (const std::int32_t example : column.missing) list(example, missing);
        by_rank_[static_cast<std::size_t>(column.implicit_rank)] += implicit;
    }
    missing_count_ = by_rank_.back();
    find_slots(column, ranks);
}

// Numbers the values that occur in the node; in place of their numbers of examples.
void PackedFeature::find_slots(const Column& column, std::size_t ranks) {
    counts_.clear();
    counts_before_.clear();
    implicit_slot_ = -1;
    std::uint32_t before = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::uint32_t count = by_rank_[rank];
        by_rank_[rank] = static_cast<std::uint32_t>(counts_.size());
        if (count == 0) continue;
        if (!all_listed_ && static_cast<std::int32_t>(rank) == column.implicit_rank) {
            implicit_slot_ = static_cast<std::ptrdiff_t>(counts_.size());
        }
        counts_.push_back(count);
        before += count;
        counts_before_.push_back(before);
    }
    by_rank_[ranks] = static_cast<std::uint32_t>(counts_.size());
    if (counts_.size() == ranks) return;  // nothing changes
    for (std::int32_t& slot : slot_) slot = static_cast<std::int32_t>(by_rank_[static_cast<std::size_t>(slot)]);
}

void PackedFeature::add(const PackedRows& rows, std::size_t first, std::size_t tile) {
    // Where not all are listed, there is but one chunk.
    histogram_.add(rows, tile, slot_.data() + first, all_listed_ ? nullptr : listed_.data(),
                   all_listed_ ? rows.rows() : listed_.size());
}

// What is not in any other row.
void PackedFeature::fill_implicit(const FloatVector& total) {
    const auto implicit_slot = static_cast<std::size_t>(implicit_slot_);
    float* const implicit = histogram_.row(implicit_slot);
    std::copy(total.begin(), total.end(), implicit);
    for (std::size_t slot = 0; slot < histogram_rows(); ++slot) {
        if (slot == implicit_slot) continue;
        const float* const row = histogram_.row(slot);
        for (std::size_t c = 0; c < histogram_.size(); ++c) implicit[c] -= row[c];
    }
}

void PackedFeature::walk(const FloatVector& total, bool missing_left, bool missing_right, PackedScorer& scorer) {
    histogram_.finish();
    if (implicit_slot_ >= 0) fill_implicit(total);
    left_.resize(splits());
    right_.resize(splits());
    const FloatVector nothing(total.size(), 0.0f);
    FloatVector missing(total.size());
    if (missing_left || missing_right) histogram_.add_row(counts_.size(), nothing.data(), missing.data());
    const float* before = missing_left ? missing.data() : nothing.data();
    for (std::size_t s = 0; s < splits(); ++s) {
        float* const sum = scorer.next();
        histogram_.add_row(s, before, sum);
        before = sum;
        scorer.add(&left_[s]);
    }
    before = missing_right ? missing.data() : nothing.data();
    for (std::size_t s = splits(); s-- > 0;) {
        float* const sum = scorer.next();
        histogram_.add_row(s + 1, before, sum);
        before = sum;
        scorer.add(&right_[s]);
    }
}

std::size_t PackedFeature::boundary(std::size_t number, std::size_t parts) const {
    const auto wanted = static_cast<std::uint32_t>(number * present() / parts);
    if (number == parts) return counts_.size();
    return static_cast<std::size_t>(std::ranges::lower_bound(counts_before_, wanted) - counts_before_.begin());
}

// Whatever the part, an example is sorted with the same others, so that sums do not depend on the number of threads.
void PackedFeature::add_sorted(const PackTask& examples, std::size_t begin, std::size_t end, SortScratch& scratch,
                               Interrupt& interrupt) {
    constexpr std::size_t kTogether = 8192;
    const Kernels& kernels = active_kernels();
    const std::size_t padded = padded_floats(examples.labels);
    scratch.gradients.resize(std::min(kTogether, examples.count) * padded);
    scratch.weights.resize(std::min(kTogether, examples.count));
    std::size_t open = 0;
    const auto is_own = [&](std::size_t slot) { return slot >= begin && slot < end; };
    for (std::size_t first = 0; first < examples.count; first += kTogether) {
        const std::size_t last = std::min(examples.count, first + kTogether);
        scratch.next.assign(end + 1, 0);
        for (std::size_t m = first; m < last; ++m) {
            const auto slot = static_cast<std::size_t>(slot_[m]);
            if (is_own(slot)) ++scratch.next[slot + 1];
        }
        std::partial_sum(scratch.next.begin(), scratch.next.end(), scratch.next.begin());
        for (std::size_t m = first; m < last; ++m) {
            const auto slot = static_cast<std::size_t>(slot_[m]);
            if (!is_own(slot)) continue;
            const std::size_t place = scratch.next[slot]++;
            examples.prefetch_ahead(m);
            std::copy_n(examples.gradient(m), padded, scratch.gradients.data() + place * padded);
            scratch.weights[place] = examples.weight(m);
        }
        std::size_t place = 0;
        for (std::size_t slot = begin; slot < end; ++slot) {
            const std::size_t count = scratch.next[slot] - place;
            if (count == 0) continue;
            kernels.add_sorted_sums(histogram_.row(slot), scratch.gradients.data() + place * padded,
                                    scratch.weights.data() + place, count, examples.labels);
            place += count;
        }
        interrupt.check();
        open += kTogether;
        if (open < PackedRows::kMostExamples && last < examples.count) continue;
        open = 0;
        histogram_.settle_rows(begin, end);
    }
}

void PackedFeature::walk_exactly(PackedScorer& scorer, std::span<const std::int32_t> places) {
    if (places.empty()) histogram_.settle();
    left_.resize(splits());
    right_.resize(splits());
    AlignedVector sums(histogram_.size());
    const auto put = [&](std::size_t slot, float* quality) {
        histogram_.add_exact_row(slot, sums.data());
        float* const row = scorer.next();
        if (places.empty()) {
            for (std::size_t c = 0; c < sums.size(); ++c) row[c] = static_cast<float>(sums[c]);
        }
        for (std::size_t c = 0; c < places.size(); ++c) {
            row[c] = static_cast<float>(sums[static_cast<std::size_t>(places[c])]);
        }
        scorer.add(quality);
    };
    for (std::size_t s = 0; s < splits(); ++s) put(s, &left_[s]);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t s = splits(); s-- > 0;) put(s + 1, &right_[s]);
}

}  // namespace labelboost
