#include "packed.hpp"

#include <algorithm>
#include <cmath>

#include "screening.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kMostLabels = 96;
constexpr std::size_t kBytes = 1U << 24;  // of all rows together
// Of rows for rules: so few that a part of them all stays in the cache while several features add it up.
constexpr std::size_t kMostSums = 2048;

constexpr std::size_t padded_floats(std::size_t n) { return (n + 15) / 16 * 16; }

}  // namespace

bool PackedRows::possible(const Form& form, const Settings& settings) {
    if (form.flat) return true;
    if (!settings.trees) return form.joint && Screening::possible(form, settings);
    return settings.l2 > 0.0 && !settings.binned_candidates() && form.labels <= kMostLabels;
}

PackedRows::PackedRows(const Form& form, const Settings& settings) : form_(form) {
    if (!possible(form, settings)) return;
    sums_ = !settings.trees;
    size_ = form.flat    ? padded_floats(form.labels + 1)
            : sums_      ? packed_sums_size(form.labels)
            : form.joint ? padded_floats(form.labels * (form.labels + 3) / 2)
                         : 2 * padded_floats(form.labels);
    capacity_ = sums_ ? kMostSums : std::min(kBytes / sizeof(float) / size_, kMostExamples);
}

bool PackedRows::suits(const Column& column, std::size_t examples) const {
    constexpr std::size_t kMostRanks = 1024;
    constexpr std::size_t kExamplesPerRank = 16;  // fewer are better walked along one by one, for rules
    if (column.nominal) return false;
    if (column.rank_of.empty()) return !sums_ && examples <= capacity_;
    return column.ranks() <= kMostRanks && (!sums_ || examples >= kExamplesPerRank * column.ranks());
}

void PackedRows::fill(const Gradients& gradients, const std::vector<double>& weights,
                      std::span<const std::int32_t> examples, ThreadPool& pool, Interrupt& interrupt) {
    constexpr std::size_t kPart = 64;
    count_ = examples.size();
    if (rows_.size() < count_ * size_) rows_.assign(count_ * size_, 0.0f);
    pool.run((count_ + kPart - 1) / kPart, interrupt, [&](std::size_t part, std::size_t) {
        AlignedVector scratch(size_);
        for (std::size_t i = part * kPart; i < std::min(count_, (part + 1) * kPart); ++i) {
            pack(gradients, examples[i], weights[static_cast<std::size_t>(examples[i])], scratch,
                 rows_.data() + i * size_);
        }
    });
}

void PackedRows::pack(const Gradients& gradients, std::int32_t example, double weight, AlignedVector& scratch,
                      float* out) const {
    if (sums_) {
        active_kernels().pack_sums(gradients.rounded_row(example), static_cast<float>(weight), form_.labels, out);
        return;
    }
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
            out[size_ / 2 + k] = static_cast<float>(weight * size * (1.0 - size));
        }
    }
}

// All rows together may be larger than the cache, but so wide a part of them is not.
std::size_t PackedRows::part_width() const {
    constexpr std::size_t kFloats = 1U << 17, kLeast = 64;
    return std::min(size_, padded_floats(std::max(kFloats / std::max<std::size_t>(count_, 1), kLeast)));
}

// Roughly, in vector operations. Rows cost the more per example the more there is to a Hessian, but are made once for all
// features; exact sums are worth it where few examples are listed, as in sparse data with few features drawn.
bool PackedRows::pays(std::size_t examples, std::size_t listed, std::size_t splits) const {
    // To make a row takes two passes over the labels; it saves one per listed example and four per split.
    if (form_.flat) return 2 * examples < listed + 4 * splits;
    if (!form_.joint) return true;
    const auto labels = static_cast<double>(form_.labels);
    const double pairs = form_.sets != nullptr ? static_cast<double>(form_.sets->pairs()) : 0.0;
    const double solving = labels * labels * labels / 3.0;
    const auto size = static_cast<double>(size_);
    const double packed = static_cast<double>(examples) * (pairs + size / (form_.sets != nullptr ? 1.0 : 4.0)) +
                          static_cast<double>(listed) * size / 16.0 + static_cast<double>(splits) * solving / 16.0;
    const double exact = static_cast<double>(listed) * static_cast<double>(form_.size()) / 8.0 +
                         static_cast<double>(splits) * (pairs + solving / 8.0);
    return packed < exact;
}

PackedScorer::PackedScorer(const Form& form, const Settings& settings, std::size_t size)
    : form_(form),
      sums_(!settings.trees && size > 0),
      l2_(static_cast<float>(settings.l2)),
      size_(size),
      rows_(kTogether * size, 0.0f),
      system_(sums_ ? packed_scratch_size(form.labels, Screening::most_bins_per_sign(form, settings))
              : form.joint ? kTogether * size : 0, 0.0f) {}

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
        active_kernels().score_packed_diagonal(rows, form_.labels, size_ / 2, l2_, noise_, quality);
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
    for (std::int32_t& slot : slot_) slot = static_cast<std::int32_t>(by_rank_[static_cast<std::size_t>(slot)]);
}

void PackedFeature::add(const PackedRows& rows, std::size_t first, std::size_t begin, std::size_t count) {
    const Kernels& kernels = active_kernels();
    const std::size_t size = rows.size();
    if (all_listed_) {
        kernels.add_rows(histogram_.data() + begin, slot_.data() + first, rows.row(0) + begin, rows.rows(), size, count);
        return;
    }
    for (std::size_t i = 0; i < listed_.size(); ++i) {  // there is but one chunk then
        float* const target = histogram_.data() + static_cast<std::size_t>(slot_[i]) * size + begin;
        kernels.add_floats(target, target, rows.row(static_cast<std::size_t>(listed_[i])) + begin, count);
    }
}

void PackedFeature::settle() {
    exact_.resize(histogram_.size(), 0.0);
    for (std::size_t i = 0; i < exact_.size(); ++i) {
        exact_[i] += static_cast<double>(histogram_[i]);
        histogram_[i] = 0.0f;
    }
}

void PackedFeature::finish() {
    if (exact_.empty()) return;
    settle();
    for (std::size_t i = 0; i < exact_.size(); ++i) histogram_[i] = static_cast<float>(exact_[i]);
}

void PackedFeature::walk(const FloatVector& total, bool missing_left, bool missing_right, PackedScorer& scorer) {
    const Kernels& kernels = active_kernels();
    const std::size_t size = total.size();
    const std::size_t slots = counts_.size();
    const auto row = [&](std::size_t slot) { return histogram_.data() + slot * size; };
    if (implicit_slot_ >= 0) {
        float* const implicit = row(static_cast<std::size_t>(implicit_slot_));
        std::copy(total.begin(), total.end(), implicit);
        for (std::size_t slot = 0; slot <= slots; ++slot) {
            if (slot == static_cast<std::size_t>(implicit_slot_)) continue;
            for (std::size_t c = 0; c < size; ++c) implicit[c] -= row(slot)[c];
        }
    }
    left_.resize(splits());
    right_.resize(splits());
    const float* const missing = row(slots);
    const FloatVector nothing(size, 0.0f);
    const float* before = missing_left ? missing : nothing.data();
    for (std::size_t s = 0; s < splits(); ++s) {
        float* const sum = scorer.next();
        kernels.add_floats(sum, before, row(s), size);
        before = sum;
        scorer.add(&left_[s]);
    }
    before = missing_right ? missing : nothing.data();
    for (std::size_t s = splits(); s-- > 0;) {
        float* const sum = scorer.next();
        kernels.add_floats(sum, before, row(s + 1), size);
        before = sum;
        scorer.add(&right_[s]);
    }
}

}  // namespace labelboost
