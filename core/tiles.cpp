#include "tiles.hpp"

namespace labelboost {

PackTask PackBatch::gather(const Gradients& gradients, const std::vector<double>& weights,
                           std::span<const std::int32_t> examples, std::size_t begin, std::size_t end,
                           std::size_t labels) {
    PackTask task{examples.data() + begin, end - begin, 0, nullptr, 0, false, weights.data(), gradients.slacks(), labels};
    if (gradients.rounded()) {
        const LabelRows<float>& rows = gradients.rows<float>();
        task.gradients = rows.row(0);
        task.stride = rows.stride();
        if (rows.far()) task.following = examples.size() - end;
        return task;
    }
    task.packed = true;
    task.stride = padded_floats(labels);
    rounded_.resize(task.count * task.stride, 0.0f);
    for (std::size_t m = 0; m < task.count; ++m) {
        const double* const exact = gradients.row(task.examples[m]);
        std::transform(exact, exact + labels, rounded_.begin() + static_cast<std::ptrdiff_t>(m * task.stride),
                       [](double gradient) { return static_cast<float>(gradient); });
    }
    task.gradients = rounded_.data();
    return task;
}

void TiledRows::make_room(std::size_t count) {
    count_ = count;
    tiles_.width = tile_width();
    if (rows_.size() >= tiles_.size * count) return;
    rows_.clear();  // nothing is to be copied
    rows_.resize(tiles_.size * count);
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
    make_room_to_settle();
    settle_numbers(0, exact_.size());
}

void TiledHistogram::settle_rows(std::size_t begin, std::size_t end) { settle_numbers(begin * pitch_, end * pitch_); }

void TiledHistogram::settle_numbers(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
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
