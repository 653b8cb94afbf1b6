// Growing one tree: the search for the best division of a node, applied again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "search.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace labelboost {

struct TreeNode {
    Condition condition{-1, Operator::less_equal, 0.0};  // of the left child; the feature of a leaf is -1
    bool missing_left = false;
    bool missing_seen = false;  // in the sample; otherwise missing values go where most examples go
    std::int32_t left = -1, right = -1;
    std::size_t coverage = 0;  // number of training examples, in the sample or not

    bool is_leaf() const { return condition.feature < 0; }
};

// Grows a tree on the sample of a coverage, which it uses up. Nodes are numbered in the order in which they are made.
class TreeGrower {
public:
    // draw_features(node): the features to be tried there, in the order that decides ties.
    using DrawFeatures = std::function<std::vector<std::int32_t>(std::size_t)>;
    TreeGrower(Search& search, const Settings& settings, const Gradients& gradients, Coverage& coverage,
               Interrupt& interrupt, DrawFeatures draw_features)
        : search_(search),
          settings_(settings),
          gradients_(gradients),
          coverage_(coverage),
          interrupt_(interrupt),
          draw_features_(std::move(draw_features)) {}

    // False if the root stays undivided.
    bool grow();
    std::vector<TreeNode> take_nodes() { return std::move(nodes_); }
    // The training examples in a leaf.
    const std::vector<std::int32_t>& covered(std::size_t leaf) const { return growing_[leaf].region.all; }

private:
    struct Growing {
        Region region;
        std::size_t depth = 0;
        double quality = 0.0;
        std::optional<Search::Division> division{};
        double gain = 0.0;  // of the division
    };

    void find_division(std::size_t node);
    void divide(std::size_t node);
    std::size_t add_node(Region region, std::size_t depth, double quality);
    // The next node to be divided among those that can be, or none.
    std::optional<std::size_t> next();

    Search& search_;
    const Settings& settings_;
    const Gradients& gradients_;
    Coverage& coverage_;
    Interrupt& interrupt_;
    DrawFeatures draw_features_;
    double root_noise_ = 0.0;
    std::vector<TreeNode> nodes_;
    std::vector<Growing> growing_;
    std::vector<std::size_t> open_;  // nodes with a division that has not been carried out, ascending
};

}  // namespace labelboost
