#include "ranked.hpp"

namespace labelboost {

void RankHistogram::start(const Column& column, std::size_t size, std::size_t count_place, int shift) {
    column_ = &column;
    count_place_ = count_place;
    shift_ = shift;
    longest_ = 0;
    const std::size_t blocks = ((column.ranks() - 1) >> shift) + 1;
    counts_.assign(blocks + 1, 0);
    sums_.clear(size, blocks + 1, std::min(size, kTileWidth));
}

void RankHistogram::settle() {
    for (std::size_t row = 0; row < counts_.size(); ++row) {
        const auto count = static_cast<std::uint32_t>(sums_.number(row, count_place_));
        counts_[row > 0 ? row - 1 : blocks()] += count;
        longest_ = std::max(longest_, count);
    }
    sums_.settle();
}

void RankAdder::begin(std::size_t size, std::span<RankHistogram* const> histograms) {
    rows_.assign(kRows * size, 0.0f);
    tiles_.resize(histograms.size());
    ranks_.clear();
    shifts_.clear();
    for (const RankHistogram* const histogram : histograms) {
        ranks_.push_back(histogram->ranks());
        shifts_.push_back(histogram->shift());
    }
}

void RankAdder::add_rows(const PackTask& source, std::size_t size, std::span<RankHistogram* const> histograms) {
    // How far ahead ranks are asked for: they are read from many places in turn, so that nothing else would in time.
    constexpr std::size_t kAhead = 1024;
    const std::size_t width = std::min(size, RankHistogram::kTileWidth);
    for (std::size_t c = 0; c < size; c += width) {
        for (std::size_t h = 0; h < histograms.size(); ++h) tiles_[h] = histograms[h]->tile(c / width);
        const RankTargets targets{tiles_.data(),     ranks_.data(), shifts_.data(),
                                  histograms.size(), source,        histograms.front()->pitch()};
        active_kernels().add_ranked_rows(rows_.data() + c, source.count, std::min(width, size - c), size, targets, kAhead);
    }
}

}  // namespace labelboost
