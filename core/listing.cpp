#include "listing.hpp"

#include <algorithm>
#include <bit>

namespace labelboost {
namespace {

// Filtering a sorted list costs a step per listed example, collecting and sorting about two log2(n) steps per
// covered one.
bool cheaper_to_sort(std::size_t covered, std::size_t listed) {
    return 2 * covered * std::bit_width(covered) < listed;
}

}  // namespace

void Listing::collect(const Column& column, const std::vector<std::int32_t>& sample,
                      const std::vector<double>& weights) {
    if (!column.rank_of.empty() && cheaper_to_sort(sample.size(), column.example.size())) {
        list_by_sorting(column, sample);
    } else {
        list_by_filtering(column, weights);
    }
    for (const std::int32_t example : column.missing) {
        if (weights[static_cast<std::size_t>(example)] > 0.0) example_.push_back(example);
    }
    find_groups(column, sample.size());
    splits_.clear();
    pairs_.clear();
    if (groups_.empty()) return;
    const std::size_t present = sample.size() - missing().size();
    if (column.nominal) {
        pair_nominal(present, sample.size());
    } else {
        pair_numeric(present);
    }
}

void Listing::list_by_sorting(const Column& column, const std::vector<std::int32_t>& sample) {
    keys_.clear();
    for (const std::int32_t example : sample) {
        const std::int32_t rank = column.rank_of[static_cast<std::size_t>(example)];
        if (rank < 0) continue;
        keys_.push_back(static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(example));
    }
    std::sort(keys_.begin(), keys_.end());
    listed_ = keys_.size();
    example_.resize(listed_);
    rank_.resize(listed_);
    for (std::size_t i = 0; i < listed_; ++i) {
        example_[i] = static_cast<std::int32_t>(keys_[i] & 0xffffffffU);
        rank_[i] = static_cast<std::int32_t>(keys_[i] >> 32);
    }
}

void Listing::list_by_filtering(const Column& column, const std::vector<double>& weights) {
    // Always stored, kept only if covered: a branch here would be mispredicted all the time.
    example_.resize(column.example.size());
    rank_.resize(column.example.size());
    listed_ = 0;
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        const std::int32_t example = column.example[i];
        example_[listed_] = example;
        rank_[listed_] = column.rank[i];
        listed_ += weights[static_cast<std::size_t>(example)] > 0.0 ? 1 : 0;
    }
    example_.resize(listed_);
}

void Listing::find_groups(const Column& column, std::size_t covered) {
    groups_.clear();
    std::size_t before_implicit = 0;
    for (std::size_t begin = 0; begin < listed_;) {
        std::size_t end = begin + 1;
        while (end < listed_ && rank_[end] == rank_[begin]) ++end;
        groups_.push_back({rank_[begin], begin, end, end - begin});
        if (rank_[begin] < column.implicit_rank) before_implicit = groups_.size();
        begin = end;
    }
    const std::size_t implicit = covered - example_.size();
    if (implicit > 0) {
        const auto place = groups_.begin() + static_cast<std::ptrdiff_t>(before_implicit);
        groups_.insert(place, {column.implicit_rank, 0, 0, implicit});
    }
}

// From both ends towards the implicit group, whose examples are never touched.
void Listing::pair_numeric(std::size_t present) {
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) splits_.push_back({groups_[g].rank, groups_[g + 1].rank});
    const auto implicit = std::find_if(groups_.begin(), groups_.end(), [](const Group& g) { return g.begin == g.end; });
    const auto middle = static_cast<std::size_t>(implicit - groups_.begin());
    for (std::size_t s = 0; s < middle && s < splits_.size(); ++s) {
        const Group& group = groups_[s];
        pairs_.push_back({0, group.end, group.begin, group.end, s == 0, group.end, present - group.end, 2 * s, 2 * s + 1});
    }
    for (std::size_t s = splits_.size(); s-- > middle;) {
        const Group& group = groups_[s + 1];
        const std::size_t count = listed_ - group.begin;
        pairs_.push_back({group.begin, listed_, group.begin, group.end, s + 1 == splits_.size(), count, present - count,
                          2 * s + 1, 2 * s});
    }
}

void Listing::pair_nominal(std::size_t present, std::size_t covered) {
    // The second category of two, with nothing missing, would repeat the candidates of the first.
    const std::size_t categories = groups_.size() == 2 && missing().empty() ? 1 : groups_.size();
    for (std::size_t g = 0; g < categories; ++g) {
        const Group& group = groups_[g];
        splits_.push_back({group.rank, 0});
        const std::size_t equal = group.count == covered ? 0 : group.count;
        const std::size_t other = present - group.count;
        if (group.begin == group.end) {  // the implicit category: everything listed is the part
            pairs_.push_back({0, listed_, 0, listed_, true, other, equal, 2 * g + 1, 2 * g});
        } else {
            pairs_.push_back({group.begin, group.end, group.begin, group.end, true, equal, other, 2 * g, 2 * g + 1});
        }
    }
}

}  // namespace labelboost
