#include "label_scores.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "kernels/kernels.hpp"

namespace labelboost {
namespace {

std::size_t at(std::int32_t example) { return static_cast<std::size_t>(example); }

}  // namespace

LabelScores::LabelScores(std::span<const std::uint8_t> relevant, std::size_t labels) : labels_(labels) {
    const std::size_t examples = relevant.size() / labels;
    for (Label& label : labels_) {
        label.group.resize(examples);
        label.score = {0.0, 0.0};
        label.sign = {-1.0, 1.0};
    }
    for (std::size_t n = 0; n < examples; ++n) {
        for (std::size_t k = 0; k < labels; ++k) labels_[k].group[n] = relevant[n * labels + k] != 0 ? 1 : 0;
    }
}

double LabelScores::score(std::size_t example, std::size_t label) const {
    const Label& scores = labels_[label];
    return scores.grouped() ? scores.score[scores.group[example]] : scores.own[example];
}

std::int8_t LabelScores::sign(std::size_t example, std::size_t label) const {
    return static_cast<std::int8_t>(labels_[label].sign[labels_[label].group[example]]);
}

LabelScores::Addition LabelScores::nothing() {
    Addition addition{0.0, {}};
    std::iota(std::begin(addition.target), std::end(addition.target), std::uint8_t{0});
    return addition;
}

LabelScores::Addition LabelScores::begin(std::size_t label, std::span<const std::int32_t> covered, double score) {
    Label& scores = labels_[label];
    Addition addition{score, {}};
    if (!scores.grouped() || scores.add_groups(covered, addition)) return addition;
    scores.drop_unused_groups();
    if (!scores.add_groups(covered, addition)) scores.ungroup();
    return addition;
}

void LabelScores::finish(std::size_t label, std::span<const std::int32_t> part, const Addition& addition) {
    Label& scores = labels_[label];
    if (scores.grouped()) {
        for (const std::int32_t example : part) scores.group[at(example)] = addition.target[scores.group[at(example)]];
    } else {
        for (const std::int32_t example : part) scores.own[at(example)] += addition.score;
    }
}

// Each group of which some examples are covered gets another one, for these. False, and nothing done, if that would be
// too many.
bool LabelScores::Label::add_groups(std::span<const std::int32_t> covered, Addition& addition) {
    bool any_covered[kMostGroups] = {};
    for (const std::int32_t example : covered) any_covered[group[at(example)]] = true;
    const std::size_t groups = score.size();
    const auto more = static_cast<std::size_t>(std::count(any_covered, any_covered + groups, true));
    if (groups + more > kMostGroups) return false;
    for (std::size_t g = 0; g < groups; ++g) {
        if (!any_covered[g]) continue;
        addition.target[g] = static_cast<std::uint8_t>(score.size());
        score.push_back(score[g] + addition.score);
        sign.push_back(sign[g]);
    }
    return true;
}

void LabelScores::Label::drop_unused_groups() {
    bool used[kMostGroups] = {};
    for (const std::uint8_t g : group) used[g] = true;
    std::uint8_t target[kMostGroups] = {};
    std::size_t kept = 0;
    for (std::size_t g = 0; g < score.size(); ++g) {
        if (!used[g]) continue;
        target[g] = static_cast<std::uint8_t>(kept);
        score[kept] = score[g];
        sign[kept++] = sign[g];
    }
    score.resize(kept);
    sign.resize(kept);
    for (std::uint8_t& g : group) g = target[g];
}

// From now on only two groups are left, which tell the signs.
void LabelScores::Label::ungroup() {
    own.resize(group.size());
    for (std::size_t n = 0; n < group.size(); ++n) {
        own[n] = score[group[n]];
        group[n] = sign[group[n]] > 0.0 ? 1 : 0;
    }
    score.clear();
    sign = {-1.0, 1.0};
}

void LabelScores::gradients(std::size_t label, std::span<const std::int32_t> examples, double* out) const {
    const Label& scores = labels_[label];
    alignas(64) double score[kMostGroups] = {}, sign[kMostGroups] = {}, gradient[kMostGroups];
    if (scores.grouped()) {
        std::copy(scores.score.begin(), scores.score.end(), score);
        std::copy(scores.sign.begin(), scores.sign.end(), sign);
        active_kernels().label_gradients(score, sign, padded_size(scores.score.size()), gradient);
        for (std::size_t i = 0; i < examples.size(); ++i) out[i] = gradient[scores.group[at(examples[i])]];
        return;
    }
    for (std::size_t begin = 0; begin < examples.size(); begin += kMostGroups) {
        const std::size_t count = std::min(kMostGroups, examples.size() - begin);
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t example = at(examples[begin + i]);
            score[i] = scores.own[example];
            sign[i] = scores.sign[scores.group[example]];
        }
        active_kernels().label_gradients(score, sign, padded_size(count), gradient);
        std::copy_n(gradient, count, out + begin);
    }
}

}  // namespace labelboost
