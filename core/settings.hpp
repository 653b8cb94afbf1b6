// Everything that decides what is learned, apart from the data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout.hpp"
#include "losses.hpp"

namespace labelboost {

struct Settings {
    Loss loss = Loss::example_logistic;
    bool single_head = false;
    bool use_bins = false;  // for complete heads, the default rule's included
    BinSettings bins;
    double learning_rate = 0.3;
    double l2 = 1.0;
    bool bootstrap = true;
    double subsample = 1.0;  // without bootstrap: the share of the examples that is drawn
    std::size_t max_features = 0;    // 0: all
    std::size_t max_conditions = 0;  // 0: no limit
    std::size_t min_coverage = 1;
    std::uint64_t seed = 0;
    // Trees instead of rules.
    bool trees = false;
    std::size_t max_depth = 0;   // 0: no limit
    std::size_t max_leaves = 0;  // 0: no limit
    bool best_first = true;      // or level by level
    // Divisions are scored as if every second derivative were 1 (and mixed ones 0); the heads of leaves never are.
    bool flat_divisions = false;

    bool joint_loss() const { return loss != Loss::label_logistic; }
    // Whether the gradient of a label depends on the score of that label only.
    bool separate_labels() const { return loss == Loss::label_logistic; }
    bool binned_candidates() const { return use_bins && !single_head && !flat_divisions; }
    // A non-decomposable loss with a head for all labels needs the full Hessian; anything else its diagonal.
    bool joint() const { return joint_loss() && !single_head; }
};

}  // namespace labelboost
