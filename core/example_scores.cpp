#include "example_scores.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace labelboost {

ExampleScores::Later ExampleScores::add_later(const AlignedVector& head, double largest) {
    heads_.insert(heads_.end(), head.begin(), head.end());
    largest_heads_.push_back(largest);
    return {pending_, std::uint64_t{1} << (largest_heads_.size() - 1)};
}

double ExampleScores::largest() const {
    return std::accumulate(largest_heads_.begin(), largest_heads_.end(), largest_);
}

void ExampleScores::catch_up(ThreadPool& pool) {
    if (largest_heads_.empty()) return;
    constexpr std::size_t kPart = 256;
    const std::size_t examples = pending_.size(), stride = scores_.stride();
    std::vector<double> largest((examples + kPart - 1) / kPart, 0.0);
    Interrupt never{{}};
    pool.run(largest.size(), never, [&](std::size_t part, std::size_t) {
        const std::size_t begin = part * kPart, count = std::min(kPart, examples - begin);
        double* const rows = scores_.row(static_cast<std::int32_t>(begin));
        active_kernels().add_heads(rows, heads_.data(), stride, pending_.data() + begin, count);
        double found = 0.0;
        for (std::size_t i = 0; i < count * stride; ++i) found = std::abs(rows[i]) > found ? std::abs(rows[i]) : found;
        largest[part] = found;
        std::fill_n(pending_.data() + begin, count, std::uint64_t{0});
    });
    heads_.clear();
    largest_heads_.clear();
    largest_ = *std::ranges::max_element(largest);
}

void ExampleScores::copy(std::size_t example, std::size_t labels, double* out) const {
    std::copy_n(scores_.row(static_cast<std::int32_t>(example)), labels, out);
    for (std::uint64_t heads = pending_[example]; heads != 0; heads &= heads - 1) {
        const double* const head = heads_.data() + static_cast<std::size_t>(std::countr_zero(heads)) * scores_.stride();
        for (std::size_t k = 0; k < labels; ++k) out[k] += head[k];
    }
}

void ExampleScores::reset() {
    for (std::size_t n = 0; n < pending_.size(); ++n) {
        std::fill_n(scores_.row(static_cast<std::int32_t>(n)), scores_.stride(), 0.0);
    }
    std::ranges::fill(pending_, std::uint64_t{0});
    heads_.clear();
    largest_heads_.clear();
    largest_ = 0.0;
}

}  // namespace labelboost
