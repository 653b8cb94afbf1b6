#include "listing.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace labelboost {
namespace {

// Filtering a sorted list costs a step per listed example, counting about three per covered one, and one for every rank,
// marking ranks about eight per covered one, and one for every sixty-four ranks.
bool cheaper_to_mark(const Column& column, std::size_t covered) {
    if (column.counted()) return 5 * covered < column.ranks();
    return !column.rank_of.empty() && 8 * covered + column.listed() / 64 < column.listed();
}

// By rank, those without a value behind all others.
struct CountedPlace {
    const std::int32_t* rank_of;
    std::size_t missing;

    explicit CountedPlace(const Column& column) : rank_of(column.rank_of.data()), missing(column.ranks()) {}
    std::size_t operator()(std::int32_t example) const {
        const std::int32_t rank = rank_of[static_cast<std::size_t>(example)];
        return rank < 0 ? missing : static_cast<std::size_t>(rank);
    }
};

}  // namespace

void Listing::collect(const Column& column, const std::vector<std::int32_t>& sample, std::size_t covered,
                      const std::vector<std::uint8_t>& sampled, const std::vector<std::uint32_t>& multiplicity) {
    const bool by_marking = cheaper_to_mark(column, covered);
    if (column.counted() && !by_marking) {
        list_by_counting(column, sample);
    } else {
        if (by_marking) {
            list_by_marking(column, sample);
        } else {
            list_by_filtering(column, sampled);
        }
        for (const std::int32_t example : column.missing) {
            if (sampled[static_cast<std::size_t>(example)] != 0) example_.push_back(example);
        }
        find_groups(column, covered);
    }
    count_splits(column, static_cast<std::uint32_t>(covered), static_cast<std::uint32_t>(missing().size()));
    count_coverage(sample, multiplicity);
}

void Listing::count_coverage(const std::vector<std::int32_t>& sample, const std::vector<std::uint32_t>& multiplicity) {
    count_before_.clear();
    if (multiplicity.empty()) return;
    const auto total = [&](std::span<const std::int32_t> examples) {
        std::uint32_t sum = 0;
        for (const std::int32_t example : examples) sum += multiplicity[static_cast<std::size_t>(example)];
        return sum;
    };
    covered_count_ = total(sample);
    missing_count_ = total(missing());
    count_before_.assign(listed_ + 1, 0);
    for (std::size_t i = 0; i < listed_; ++i) {
        count_before_[i + 1] = count_before_[i] + multiplicity[static_cast<std::size_t>(example_[i])];
    }
}

void Listing::collect_counts(const Column& column, const std::vector<std::uint32_t>& counts) {
    example_.clear();
    find_groups(counts);
    count_splits(column, static_cast<std::uint32_t>(listed_) + counts.back(), counts.back());
    pair_up();
    listed_ = 0;  // there are no examples to be had
}

void Listing::find_groups(const std::vector<std::uint32_t>& counts) {
    groups_.clear();
    count_before_.clear();
    std::uint32_t listed = 0;
    for (std::size_t rank = 0; rank + 1 < counts.size(); ++rank) {
        if (counts[rank] == 0) continue;
        groups_.push_back({static_cast<std::int32_t>(rank), listed, listed + counts[rank], counts[rank]});
        listed += counts[rank];
    }
    listed_ = listed;
    all_listed_ = true;
}

bool Listing::counting_pays(const Column& column, std::size_t covered) {
    constexpr std::size_t kExamplesPerRank = 16;
    return !column.rank_of.empty() && covered >= kExamplesPerRank * column.ranks();
}

void Listing::count_ranks(const Column& column, const std::vector<std::int32_t>& sample) {
    const CountedPlace place(column);
    counts_.assign(column.ranks() + 1, 0);
    for (const std::int32_t example : sample) ++counts_[place(example)];
    find_groups(counts_);
}

void Listing::collect_wanted(const Column& column, const std::vector<std::int32_t>& sample,
                             const Wanted& wanted) {
    const CountedPlace place(column);
    count_ranks(column, sample);
    count_splits(column, static_cast<std::uint32_t>(sample.size()), counts_.back());
    pair_up();
    if (wanted.empty()) {
        example_.resize(sample.size());
        return;
    }
    // Behind all examples there is room for one that is not wanted.
    example_.resize(sample.size() + 1);
    segment_of_.assign(counts_.size(), 0);
    next_ = {static_cast<std::uint32_t>(sample.size()), static_cast<std::uint32_t>(listed_)};
    segment_of_.back() = 1;
    find_segments(wanted);
    for (const std::int32_t example : sample) {
        const std::uint32_t segment = segment_of_[place(example)];
        example_[next_[segment]] = example;
        next_[segment] += segment != 0 ? 1 : 0;
    }
    example_.resize(sample.size());
}

// What lies between two wanted candidates of a run is a segment.
void Listing::find_segments(const Wanted& wanted) {
    std::uint32_t begin = 0, end = 0;  // of the part of the last wanted pair
    for (const CandidatePair& pair : pairs_) {
        if (pair.starts_anew) begin = end = 0;
        if (pair.part_slot >= wanted.size() || (wanted[pair.part_slot] == 0 && wanted[pair.rest_slot()] == 0)) continue;
        const bool grows_at_the_back = end == 0 || pair.begin == begin;
        const std::uint32_t first = end > 0 && grows_at_the_back ? end : pair.begin;
        const std::uint32_t last = end > 0 && !grows_at_the_back ? begin : pair.end;
        const auto segment = static_cast<std::uint32_t>(next_.size());
        next_.push_back(first);
        const auto group = std::partition_point(groups_.begin(), groups_.end(),
                                                [&](const Group& g) { return g.begin < first; });
        for (auto g = group; g != groups_.end() && g->end <= last; ++g) {
            segment_of_[static_cast<std::size_t>(g->rank)] = segment;
        }
        begin = pair.begin;
        end = pair.end;
    }
}

void Listing::count_splits(const Column& column, std::uint32_t covered, std::uint32_t missing) {
    nominal_ = column.nominal;
    covered_ = covered;
    missing_ = missing;
    paired_ = false;
    splits_ = groups_.size();
    if (nominal_) {
        // The second category of two, with nothing missing, would repeat the candidates of the first.
        if (splits_ == 2 && missing_ == 0) splits_ = 1;
    } else if (splits_ > 0) {
        --splits_;
    }
}

const std::vector<CandidatePair>& Listing::pairs() {
    if (!paired_) pair_up();
    return pairs_;
}

void Listing::pair_up() {
    paired_ = true;
    pairs_.clear();
    pairs_.reserve(splits_);
    for_each_pair([&](const CandidatePair& pair) { pairs_.push_back(pair); });
}

std::int32_t Listing::added_rank(const CandidatePair& pair) const {
    return groups_[pair.part_slot % 2 == 0 ? pair.part_slot / 2 : pair.part_slot / 2 + 1].rank;
}

Split Listing::split(std::size_t s, const Column& column) const {
    return {groups_[s].rank, column.nominal ? groups_[s].rank : groups_[s + 1].rank};
}

// Examples of the same rank are chained, the last one first, so that they are found in ascending order.
void Listing::list_by_marking(const Column& column, const std::vector<std::int32_t>& sample) {
    constexpr std::size_t kBits = 64;
    const std::size_t ranks = column.ranks();
    marks_.assign((ranks + kBits - 1) / kBits, 0);
    if (first_of_rank_.size() < ranks) first_of_rank_.resize(ranks);
    next_of_rank_.resize(sample.size());
    listed_ = 0;
    for (std::size_t i = sample.size(); i-- > 0;) {
        const std::int32_t signed_rank = column.rank_of[static_cast<std::size_t>(sample[i])];
        if (signed_rank < 0) continue;
        const auto rank = static_cast<std::size_t>(signed_rank);
        const std::uint64_t mark = std::uint64_t{1} << rank % kBits;
        next_of_rank_[i] = (marks_[rank / kBits] & mark) != 0 ? first_of_rank_[rank] : -1;
        first_of_rank_[rank] = static_cast<std::int32_t>(i);
        marks_[rank / kBits] |= mark;
        ++listed_;
    }
    example_.resize(listed_);
    if (rank_.size() < listed_) rank_.resize(listed_);
    std::size_t listed = 0;
    for (std::size_t word = 0; word < marks_.size(); ++word) {
        for (std::uint64_t marks = marks_[word]; marks != 0; marks &= marks - 1) {
            const std::size_t rank = word * kBits + static_cast<std::size_t>(std::countr_zero(marks));
            for (std::int32_t i = first_of_rank_[rank]; i >= 0; i = next_of_rank_[static_cast<std::size_t>(i)], ++listed) {
                example_[listed] = sample[static_cast<std::size_t>(i)];
                rank_[listed] = static_cast<std::int32_t>(rank);
            }
        }
    }
}

void Listing::list_by_counting(const Column& column, const std::vector<std::int32_t>& sample) {
    constexpr std::size_t kFewRanks = 16;
    if (column.ranks() <= kFewRanks) {
        list_in_parts<4>(column, sample);
    } else {
        list_in_parts<1>(column, sample);
    }
}

// Examples go to the next place of their rank, in ascending order. Of few ranks, one after the other would be likely to find
// the place that has just been written, and wait for it: so several parts of the sample take turns, each with its own places.
template <std::size_t kParts>
void Listing::list_in_parts(const Column& column, const std::vector<std::int32_t>& sample) {
    const CountedPlace place(column);
    const std::size_t length = sample.size() / kParts;
    const auto visit_all = [&](const auto& visit) {
        for (std::size_t i = 0; i < length; ++i) {
            for (std::size_t part = 0; part < kParts; ++part) visit(sample[part * length + i], part);
        }
        for (std::size_t i = kParts * length; i < sample.size(); ++i) visit(sample[i], kParts - 1);
    };
    next_.assign(kParts * (column.ranks() + 1), 0);
    std::uint32_t* const next = next_.data();
    visit_all([&](std::int32_t example, std::size_t part) { ++next[kParts * place(example) + part]; });
    groups_.resize(column.ranks());
    std::size_t found = 0;
    std::uint32_t before = 0;
    for (std::size_t rank = 0; rank <= column.ranks(); ++rank) {
        const std::uint32_t begin = before;
        for (std::size_t part = 0; part < kParts; ++part) before += std::exchange(next[kParts * rank + part], before);
        if (rank == column.ranks()) {
            listed_ = begin;
            break;
        }
        groups_[found] = {static_cast<std::int32_t>(rank), begin, before, before - begin};
        found += before > begin ? 1 : 0;
    }
    groups_.resize(found);
    all_listed_ = true;
    example_.resize(sample.size());
    std::int32_t* const examples = example_.data();
    visit_all([&](std::int32_t example, std::size_t part) { examples[next[kParts * place(example) + part]++] = example; });
}

void Listing::list_by_filtering(const Column& column, const std::vector<std::uint8_t>& sampled) {
    // Always stored, kept only if covered: a branch here would be mispredicted all the time.
    example_.resize(column.example.size());
    if (rank_.size() < column.example.size()) rank_.resize(column.example.size());
    std::int32_t* examples = example_.data();
    std::int32_t* ranks = rank_.data();
    std::size_t listed = 0;
    for (std::size_t i = 0; i < column.example.size(); ++i) {
        const std::int32_t example = column.example[i];
        examples[listed] = example;
        ranks[listed] = column.rank[i];
        listed += sampled[static_cast<std::size_t>(example)];
    }
    example_.resize(listed);
    listed_ = listed;
}

void Listing::find_groups(const Column& column, std::size_t covered) {
    // As above: always stored, kept only at the end of a group.
    const auto listed = static_cast<std::uint32_t>(listed_);
    groups_.resize(listed);
    std::size_t found = 0;
    std::uint32_t begin = 0;
    for (std::uint32_t i = 0; i < listed; ++i) {
        groups_[found] = {rank_[i], begin, i + 1, i + 1 - begin};
        const bool ends = i + 1 == listed || rank_[i + 1] != rank_[i];
        found += ends ? 1 : 0;
        begin = ends ? i + 1 : begin;
    }
    groups_.resize(found);
    const auto implicit = static_cast<std::uint32_t>(covered - example_.size());
    all_listed_ = implicit == 0;
    if (!all_listed_) {
        const auto place = std::partition_point(groups_.begin(), groups_.end(), [&](const Group& group) {
            return group.rank < column.implicit_rank;
        });
        groups_.insert(place, {column.implicit_rank, 0, 0, implicit});
    }
}

}  // namespace labelboost
