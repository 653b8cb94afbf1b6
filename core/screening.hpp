// Approximate qualities of the many splits of a numeric feature, so that only promising ones are solved exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "activity.hpp"
#include "aligned.hpp"
#include "columns.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// One per thread: the memory of the screening kernels and the way to them.
class Screening {
public:
    Screening(const Form& form, const Settings& settings);

    // Whether the kernels can deal with the problem at all: not too many labels, and systems that are not singular.
    static bool possible(const Form& form, const Settings& settings);
    // Whether, besides, features have enough values, or their rounded gradients are needed for packed rows.
    static bool useful(const Form& form, const Settings& settings, const Columns& columns);
    static std::size_t most_bins_per_sign(const Form& form, const Settings& settings);  // 0 without label bins
    // Whether labels share a bin whenever their gradients have the same sign, with the paper's aggregation.
    static bool by_sign(const Form& form, const Settings& settings);
    // Whether it pays for a list with so many examples and splits.
    static constexpr std::size_t kFewestSplits = 12;
    static bool pays(std::size_t examples, std::size_t splits);
    // Whether that is so for these labels, too.
    bool is_long(std::size_t examples) const { return examples >= fewest_examples_; }
    // Whether leaps along such a list take less time than to settle so many bounded candidates of it.
    static bool leaps_pay(std::size_t labels, std::size_t examples, std::size_t candidates);

    // Whether it is done by leaps: not where the two sides of a split count together.
    static bool by_leaps(const Settings& settings) { return !settings.trees; }
    // Whether lists of so many examples are walked along several at once, so that halves of them would take as long.
    static bool walks_several(const Settings& settings, std::size_t examples) {
        return by_leaps(settings) && examples <= kLongestShort;
    }

    // Whether two threads that share a list had better take one side of its splits each. That adds up all leaps twice, but
    // what takes longest are the systems. A run of pairs cannot be halved, and halves of a list that has none would have as
    // many systems if they were too short. (Without leaps, both sides are always looked at together.)
    bool shared_by_sides(std::size_t examples, bool in_runs) const {
        constexpr std::size_t kManyLabels = 24;
        const bool too_short = form_.labels >= kManyLabels && examples < 2 * kScreenLanes * kLongLeap;
        return with_systems_ && by_leaps(settings_) && (in_runs || too_short);
    }

    // After so many examples there is a split. The region before it has a number as a candidate, the one behind it the
    // number that differs in the last bit; both may be too small to be one.
    struct WalkSplit {
        std::uint32_t end;
        std::uint32_t slot;
        bool before, behind;
    };
    // Examples in the order in which they join a growing region, and where there are splits.
    struct Walk {
        std::span<const std::int32_t> examples;
        bool from_the_back;
        std::span<const WalkSplit> splits;
        const AlignedVector* start = nullptr;  // sums of what is in the region from the beginning; null: nothing
        double start_weight = 0.0;
        bool any_missing = false;  // examples of the coverage are not in the list because they have no value
    };
    // Scores the region before each split, and the one behind it. weights: by example; total: sums of both together.
    void run(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk, const AlignedVector& total,
             double total_weight, double noise, ActivityMark& activity);
    // By leaps instead: begin with what is reached and the sums of all that is covered, go along the features one by one,
    // and finish; then all the candidates that may be the best are among the findings.
    void begin_leaps(double reached, const AlignedVector& total);
    void leap(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk, std::size_t feature,
              const AlignedVector& total, double total_weight, double noise, ActivityMark& activity);
    void finish_leaps(double noise, ActivityMark& activity);
    // What was reached, by this thread or, if told so, by another.
    float reached() const { return leaps_.reached; }
    void set_reached(float reached) { leaps_.reached = std::min(leaps_.reached, reached); }
    std::span<const ScreenFinding> findings() const { return std::span(findings_).first(leaps_.found); }

    // What kernels need to know that does not depend on the examples.
    ScreenTask task(double noise, ActivityMark& activity) const;

    // The qualities of the regions before and behind split s; -infinity: not decided.
    double before(std::size_t s) const { return static_cast<double>(before_quality_[place_[s]]); }
    double behind(std::size_t s) const { return static_cast<double>(behind_quality_[place_[s]]); }

private:
    // Calls score(task, start) for each block of examples.
    template <typename Score>
    void score_blocks(const Walk& walk, const AlignedVector& total, double total_weight, double noise,
                      ActivityMark& activity, const Score& score);
    // A list as the kernels want it.
    struct Lined {
        std::vector<const float*> rows;
        bool far = false;
        std::vector<float> weights;
        std::vector<std::uint8_t> wanted;
        std::vector<std::uint32_t> slots;
        std::uint32_t feature = 0;

        void put_into(ScreenTask& task, std::size_t start, std::size_t count) const;
    };
    void line_up(const Gradients& gradients, const std::vector<double>& weights, const Walk& walk, Lined& out) const;
    void make_room(std::size_t examples);
    void leap_along_short_lists(double noise, ActivityMark& activity);
    void leap_along(const ScreenTask* lists, std::size_t count);

    Form form_;
    const Settings& settings_;
    bool by_sign_, with_systems_;
    std::size_t fewest_examples_ = 0;
    AlignedVectorOf<float> bins_for_;
    AlignedRoomOf<float> scratch_;
    AlignedVector sums_before_;
    Lined lined_[kShortLists];
    std::size_t short_lists_ = 0;  // that wait until there are enough of them
    double short_weight_ = 0.0;    // total weight of each
    AlignedRoomOf<float> before_quality_, behind_quality_;  // as the kernels leave them
    std::vector<std::uint32_t> place_;                        // where the results of a split stand
    LeapState leaps_;
    AlignedRoomOf<float> waiting_sums_;
    std::vector<ScreenFinding> findings_;
};

}  // namespace labelboost
