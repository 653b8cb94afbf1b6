// The scores of a loss that treats labels separately, label by label: a rule for one label changes those of one only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace labelboost {

// Examples that are covered by the same rules have the same score. As long as there are few different scores for a
// label, an example has the number of its group, a byte, and the exponentials of a gradient are computed by group.
class LabelScores {
public:
    static constexpr std::size_t kMostGroups = 256;

    LabelScores() = default;
    // relevant: examples x labels, 0 or 1; all scores are 0.
    LabelScores(std::span<const std::uint8_t> relevant, std::size_t labels);

    double score(std::size_t example, std::size_t label) const;
    std::int8_t sign(std::size_t example, std::size_t label) const;  // +1: relevant, -1: not
    // Adds a score to all examples that are covered. First `begin`, then `finish` for parts of the examples, which different
    // threads may see to.
    struct Addition {
        double score;
        std::uint8_t target[kMostGroups];  // by group: the one for those of its examples that are covered
    };
    static Addition nothing();
    Addition begin(std::size_t label, std::span<const std::int32_t> covered, double score);
    void finish(std::size_t label, std::span<const std::int32_t> part, const Addition& addition);
    // out[i] = the gradient of the label-wise loss for examples[i]
    void gradients(std::size_t label, std::span<const std::int32_t> examples, double* out) const;

private:
    struct Label {
        std::vector<std::uint8_t> group;  // by example
        std::vector<double> score, sign;  // by group
        std::vector<double> own;          // scores by example, once there are too many for groups

        bool grouped() const { return own.empty(); }
        bool add_groups(std::span<const std::int32_t> covered, Addition& addition);
        void drop_unused_groups();
        void ungroup();
    };

    std::vector<Label> labels_;
};

}  // namespace labelboost
