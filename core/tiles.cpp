#include "tiles.hpp"

namespace labelboost {

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
    return std::min(tiles_.size, (width + 15) / 16 * 16);
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
