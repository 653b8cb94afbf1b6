#include "trees.hpp"

#include <algorithm>
#include <utility>

namespace labelboost {

bool TreeGrower::grow() {
    search_.sum_up(coverage_, coverage_.weights, gradients_, interrupt_);
    root_noise_ = kNoise * coverage_.weight;
    // From here on the marks are those of one node, while it is looked at.
    std::fill(coverage_.sampled.begin(), coverage_.sampled.end(), std::uint8_t{0});
    const double quality = search_.quality(coverage_, interrupt_);
    add_node(std::move(static_cast<Region&>(coverage_)), 0, quality);
    for (std::size_t leaves = 1; settings_.max_leaves == 0 || leaves < settings_.max_leaves; ++leaves) {
        const std::optional<std::size_t> node = next();
        if (!node) break;
        divide(*node);
    }
    return nodes_.size() > 1;
}

std::size_t TreeGrower::add_node(Region region, std::size_t depth, double quality) {
    const std::size_t node = nodes_.size();
    nodes_.emplace_back();
    nodes_.back().coverage = region.all.size();
    growing_.push_back({std::move(region), depth, quality});
    find_division(node);
    if (growing_[node].division) open_.push_back(node);
    return node;
}

void TreeGrower::find_division(std::size_t node) {
    Growing& growing = growing_[node];
    const std::size_t least = 2 * std::max<std::size_t>(settings_.min_coverage, 1);
    if (settings_.max_depth != 0 && growing.depth >= settings_.max_depth) return;
    if (coverage_.count(growing.region.sample) < least) return;
    const auto mark = [&](std::uint8_t value) {
        for (const std::int32_t example : coverage_.sample) coverage_.sampled[static_cast<std::size_t>(example)] = value;
    };
    std::swap(static_cast<Region&>(coverage_), growing.region);
    mark(1);
    growing.division =
        search_.divide(coverage_, gradients_, draw_features_(node), growing.quality, root_noise_, interrupt_);
    mark(0);
    std::swap(static_cast<Region&>(coverage_), growing.region);
    if (!growing.division) return;
    growing.gain = growing.quality - growing.division->left_quality - growing.division->right_quality;
}

// The greatest gain, the first of equal ones; or level by level.
std::optional<std::size_t> TreeGrower::next() {
    if (open_.empty()) return std::nullopt;
    auto chosen = open_.begin();
    if (settings_.best_first) {
        double most = 0.0;
        for (const std::size_t node : open_) most = std::max(most, growing_[node].gain);
        while (growing_[*chosen].gain < most - kTie * most) ++chosen;
    }
    const std::size_t node = *chosen;
    open_.erase(chosen);
    return node;
}

void TreeGrower::divide(std::size_t node) {
    Search::Division division = *growing_[node].division;
    const std::size_t depth = growing_[node].depth + 1;
    Region whole = std::move(growing_[node].region);
    Region left, right;
    search_.partition(division, whole.sample, left.sample, right.sample);
    search_.sum_up_parts(whole, left, right, coverage_.weights, gradients_, interrupt_);
    if (!division.missing_seen) division.missing_left = coverage_.count(left.sample) >= coverage_.count(right.sample);
    search_.partition(division, whole.all, left.all, right.all);
    whole = {};
    nodes_[node].condition = division.condition;
    nodes_[node].missing_left = division.missing_left;
    nodes_[node].missing_seen = division.missing_seen;
    const auto left_node = static_cast<std::int32_t>(add_node(std::move(left), depth, division.left_quality));
    const auto right_node = static_cast<std::int32_t>(add_node(std::move(right), depth, division.right_quality));
    nodes_[node].left = left_node;
    nodes_[node].right = right_node;
}

}  // namespace labelboost
