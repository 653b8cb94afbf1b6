#include "tiles.hpp"

namespace labelboost {

void TiledRows::make_room(std::size_t count) {
    count_ = count;
    if (rows_.size() < tiles_.floats(count)) rows_.resize(tiles_.floats(count));
}

void TiledRows::fill(const Gradients& gradients, const std::vector<double>& weights,
                     std::span<const std::int32_t> examples, std::size_t labels, ThreadPool& pool, Interrupt& interrupt,
                     const Pack& pack) {
    const std::size_t padded = padded_floats(labels);
    make_room(examples.size());
    if (!gradients.rounded()) rounded_.resize(pool.size(), FloatVector(kPart * padded, 0.0f));
    for_each_part(pool, interrupt, [&](std::size_t begin, std::size_t end, std::size_t thread) {
        constexpr std::size_t kAhead = kPart;
        const float* rows[kPart];
        float row_weights[kPart], slacks[kPart];
        for (std::size_t i = begin; i < end; ++i) {
            const std::int32_t example = examples[i];
            const std::size_t m = i - begin;
            row_weights[m] = static_cast<float>(weights[static_cast<std::size_t>(example)]);
            slacks[m] = static_cast<float>(gradients.slack(example));
            if (gradients.rounded()) {
                rows[m] = gradients.rounded_row(example);
                if (i + kAhead < examples.size()) gradients.rows<float>().prefetch(examples[i + kAhead]);
                continue;
            }
            float* const rounded = rounded_[thread].data() + m * padded;
            for (std::size_t k = 0; k < labels; ++k) rounded[k] = static_cast<float>(gradients.row(example)[k]);
            rows[m] = rounded;
        }
        float* const first = rows_.data() + tiles_.begin(0, count_) + begin * tiles_.width;
        pack({end - begin, rows, row_weights, slacks, labels, first, tiles_.begin(1, count_)});
    });
}

void TiledRows::add_up(AlignedVector& sums) const {
    for (std::size_t t = 0; t < tiles_.count(); ++t) {
        const std::size_t width = tiles_.width_of(t);
        const float* row = tile(t);
        for (std::size_t i = 0; i < count_; ++i, row += tiles_.pitch(t)) {
            for (std::size_t c = 0; c < width; ++c) sums[t * tiles_.width + c] += static_cast<double>(row[c]);
        }
    }
}

// All rows together may be larger than the cache, but so wide a part of them is not.
std::size_t TiledRows::part_width() const {
    constexpr std::size_t kFloats = 1U << 17, kLeast = 64;
    const std::size_t width = std::max(kFloats / std::max<std::size_t>(count_, 1), kLeast);
    return std::min(tiles_.size, padded_floats(width));
}

void TiledHistogram::settle() {
    exact_.resize(values_.size(), 0.0);
    for (std::size_t i = 0; i < exact_.size(); ++i) {
        exact_[i] += static_cast<double>(values_[i]);
        values_[i] = 0.0f;
    }
}

void TiledHistogram::finish() {
    if (exact_.empty()) return;
    settle();
    for (std::size_t i = 0; i < exact_.size(); ++i) values_[i] = static_cast<float>(exact_[i]);
}

void TiledHistogram::add_exact_row(std::size_t slot, double* sums) const {
    for (std::size_t t = 0; t < tiles_.count(); ++t, sums += tiles_.width) {
        const std::size_t width = tiles_.width_of(t);
        const double* const row = exact_.data() + tiles_.begin(t, slots_) + slot * tiles_.pitch(t);
        for (std::size_t c = 0; c < width; ++c) sums[c] += row[c];
    }
}

}  // namespace labelboost
