#include "tiles.hpp"

namespace labelboost {

PackTask PackBatch::gather(const Gradients& gradients, const std::vector<double>& weights,
                           std::span<const std::int32_t> examples, std::size_t begin, std::size_t end,
                           std::size_t labels) {
    constexpr std::size_t kAhead = 64;
    const std::size_t padded = padded_floats(labels), count = end - begin;
    const bool far = gradients.rounded() && gradients.rows<float>().far();
    if (!gradients.rounded()) rounded_.resize(count * padded, 0.0f);
    rows_.resize(count);
    ahead_.resize(count);
    weights_.resize(count);
    slacks_.resize(count);
    for (std::size_t m = 0; m < count; ++m) {
        const std::int32_t example = examples[begin + m];
        weights_[m] = static_cast<float>(weights[static_cast<std::size_t>(example)]);
        slacks_[m] = static_cast<float>(gradients.slack(example));
        if (gradients.rounded()) {
            rows_[m] = gradients.rounded_row(example);
            ahead_[m] = gradients.rounded_row(examples[std::min(begin + m + kAhead, examples.size() - 1)]);
            continue;
        }
        float* const rounded = rounded_.data() + m * padded;
        for (std::size_t k = 0; k < labels; ++k) rounded[k] = static_cast<float>(gradients.row(example)[k]);
        rows_[m] = rounded;
    }
    return {count, rows_.data(), weights_.data(), slacks_.data(), labels, far ? ahead_.data() : nullptr};
}

void TiledRows::make_room(std::size_t count) {
    count_ = count;
    tiles_.width = tile_width();
    if (rows_.size() < tiles_.size * count) rows_.resize(tiles_.size * count);
}

void TiledRows::add_up(AlignedVector& sums) const {
    const float* row = rows_.data();
    for (std::size_t i = 0; i < count_; ++i, row += tiles_.size) {
        for (std::size_t c = 0; c < tiles_.size; ++c) sums[c] += static_cast<double>(row[c]);
    }
}

// All rows together may be larger than the cache, but so wide a part of them is not.
std::size_t TiledRows::tile_width() const {
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

void TiledHistogram::add_exact_row(std::size_t slot, double* sums) const {
    const double* row = exact_.data() + slot * pitch_;
    for (std::size_t c = 0; c < size_; c += width_, row += tile_size_) {
        for (std::size_t i = 0; i < std::min(width_, size_ - c); ++i) sums[c + i] += row[i];
    }
}

void TiledHistogram::finish() {
    if (exact_.empty()) return;
    settle();
    for (std::size_t i = 0; i < exact_.size(); ++i) values_[i] = static_cast<float>(exact_[i]);
}

}  // namespace labelboost
