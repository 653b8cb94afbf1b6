// The candidates of one feature: which covered examples its values separate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "columns.hpp"

namespace labelboost {

// Where a feature can be cut: numeric ones between two ranks, nominal ones at the category `below`.
struct Split {
    std::int32_t below, above;
};

// The two candidates of a split. One of them, the part, consists of listed examples only; the other one is the
// rest of all covered examples with a value, so its sums are a difference.
struct CandidatePair {
    std::uint32_t begin, end;              // the part, in the list of examples
    std::uint32_t added_begin, added_end;  // what the part has in addition to that of the pair before
    std::uint32_t part_count, rest_count;  // how much is covered; 0: not a candidate
    std::uint32_t part_slot;               // two per split, in the order that decides ties
    bool starts_anew;                      // nothing in common with the pair before: all of the part is added

    std::uint32_t rest_slot() const { return part_slot ^ 1U; }
};

// By slot: whether a candidate is wanted. Not bits, as threads write to their own slots.
using Wanted = std::vector<std::uint8_t>;

// The covered examples of a feature by rank; those with the implicit value are only counted.
class Listing {
public:
    struct Group {
        std::int32_t rank;
        std::uint32_t begin, end;  // into examples(); empty for the implicit group
        std::uint32_t count;
    };

    // sample: covered examples, ascending; only their number `covered` needs to be right unless the feature has the rank of
    // every example; sampled: by example, 1 for these and 0 for others; multiplicity: by example, what it counts for where
    // coverage is counted, or empty if that is 1 for all.
    void collect(const Column& column, const std::vector<std::int32_t>& sample, std::size_t covered,
                 const std::vector<std::uint8_t>& sampled, const std::vector<std::uint32_t>& multiplicity);

    // The same without the examples themselves, from their numbers by rank; the last number counts those without a value.
    void collect_counts(const Column& column, const std::vector<std::uint32_t>& counts);

    // The same with only those examples that tell the wanted candidates (by slot) from each other, in the order in which
    // they lie in memory. All others are listed as anything. Only for features that have the rank of every example.
    void collect_wanted(const Column& column, const std::vector<std::int32_t>& sample, const Wanted& wanted);
    // Whether that is much cheaper than to collect everything.
    static bool counting_pays(const Column& column, std::size_t covered);

    std::span<const std::int32_t> examples() const { return std::span(example_).first(listed_); }
    std::span<const std::int32_t> missing() const { return std::span(example_).subspan(listed_); }
    // The rank of what the part of a pair has in addition to that of the pair before; nothing may be implicit.
    std::int32_t added_rank(const CandidatePair& pair) const;
    bool all_listed() const { return all_listed_; }  // no covered example has the implicit value
    std::size_t splits() const { return splits_; }
    // Where split number s cuts the feature.
    Split split(std::size_t s, const Column& column) const;
    // How many of examples() lie before a split of a numeric feature; nothing may be implicit.
    std::uint32_t listed_before(std::size_t s) const { return groups_[s].end; }
    // What the first of examples(), and those without a value, count for.
    std::uint32_t count_of_first(std::size_t n) const {
        return count_before_.empty() ? static_cast<std::uint32_t>(n) : count_before_[n];
    }
    std::uint32_t missing_count() const { return count_before_.empty() ? missing_ : missing_count_; }
    const std::vector<CandidatePair>& pairs();  // made when asked for
    // Calls visit(pair) for each of them, in the same order.
    template <typename Visit>
    void for_each_pair(const Visit& visit) const;
    std::span<const std::int32_t> part(const CandidatePair& pair) const {
        return examples().subspan(pair.begin, pair.end - pair.begin);
    }
    std::span<const std::int32_t> added(const CandidatePair& pair) const {
        return examples().subspan(pair.added_begin, pair.added_end - pair.added_begin);
    }

private:
    void list_by_marking(const Column& column, const std::vector<std::int32_t>& sample);
    void list_by_counting(const Column& column, const std::vector<std::int32_t>& sample);
    template <std::size_t kParts>
    void list_in_parts(const Column& column, const std::vector<std::int32_t>& sample);
    void list_by_filtering(const Column& column, const std::vector<std::uint8_t>& sampled);
    void find_groups(const Column& column, std::size_t covered);
    void count_splits(const Column& column, std::uint32_t covered, std::uint32_t missing);
    void count_coverage(const std::vector<std::int32_t>& sample, const std::vector<std::uint32_t>& multiplicity);
    void find_groups(const std::vector<std::uint32_t>& counts);
    void count_ranks(const Column& column, const std::vector<std::int32_t>& sample);  // and finds the groups
    void find_segments(const Wanted& wanted);
    void pair_up();
    template <typename Visit>
    void for_each_numeric_pair(const Visit& visit) const;
    template <typename Visit>
    void for_each_nominal_pair(const Visit& visit) const;

    std::size_t listed_ = 0;
    UnfilledVectorOf<std::int32_t> example_;
    std::vector<std::int32_t> rank_;
    std::vector<std::uint64_t> marks_;                       // a bit by rank: whether any covered example has it
    std::vector<std::int32_t> first_of_rank_, next_of_rank_;  // by marked rank, and by number in the sample
    UnfilledVectorOf<Group> groups_;
    std::size_t splits_ = 0;
    bool nominal_ = false;
    bool all_listed_ = false;
    bool paired_ = false;
    std::uint32_t covered_ = 0, missing_ = 0;  // numbers of examples
    // If examples have a multiplicity: of those listed before, of all covered, and of those without a value.
    std::vector<std::uint32_t> count_before_;
    std::uint32_t covered_count_ = 0, missing_count_ = 0;
    std::vector<CandidatePair> pairs_;
    // By rank, its segment; and by segment, or by rank and part, where its next example goes. Examples of segment 0 are not
    // wanted.
    std::vector<std::uint32_t> counts_, segment_of_, next_;
};

inline bool is_implicit(const Listing::Group& group) { return group.begin == group.end; }

template <typename Visit>
void Listing::for_each_pair(const Visit& visit) const {
    const auto count_and_visit = [&](CandidatePair pair) {
        if (!count_before_.empty()) {
            const std::uint32_t count = count_before_[pair.end] - count_before_[pair.begin];
            if (pair.part_count > 0) pair.part_count = count;
            if (pair.rest_count > 0) pair.rest_count = covered_count_ - missing_count_ - count;
        }
        visit(pair);
    };
    if (nominal_) {
        for_each_nominal_pair(count_and_visit);
    } else {
        for_each_numeric_pair(count_and_visit);
    }
}

// From both ends towards the implicit group, whose examples are never touched; without one, towards the middle, so that
// the part is always the smaller one.
template <typename Visit>
void Listing::for_each_numeric_pair(const Visit& visit) const {
    const std::uint32_t present = covered_ - missing_;
    const std::size_t splits = splits_;
    std::size_t middle = 0;
    for (; middle < splits; ++middle) {
        const Group& group = groups_[middle];
        if (all_listed_ ? 2 * group.end > present : is_implicit(group)) break;
        const auto slot = static_cast<std::uint32_t>(2 * middle);
        visit({0, group.end, group.begin, group.end, group.end, present - group.end, slot, middle == 0});
    }
    const auto listed = static_cast<std::uint32_t>(listed_);
    for (std::size_t s = splits; s-- > middle;) {
        const Group& group = groups_[s + 1];
        const std::uint32_t count = listed - group.begin;
        const auto slot = static_cast<std::uint32_t>(2 * s + 1);
        visit({group.begin, listed, group.begin, group.end, count, present - count, slot, s + 1 == splits});
    }
}

template <typename Visit>
void Listing::for_each_nominal_pair(const Visit& visit) const {
    const auto listed = static_cast<std::uint32_t>(listed_);
    for (std::size_t g = 0; g < splits_; ++g) {
        const Group& group = groups_[g];
        const std::uint32_t equal = group.count == covered_ ? 0 : group.count;
        const std::uint32_t other = covered_ - missing_ - group.count;
        const auto slot = static_cast<std::uint32_t>(2 * g);
        if (is_implicit(group)) {  // everything listed is the part
            visit({0, listed, 0, listed, other, equal, slot + 1, true});
        } else {
            visit({group.begin, group.end, group.begin, group.end, equal, other, slot, true});
        }
    }
}

}  // namespace labelboost
