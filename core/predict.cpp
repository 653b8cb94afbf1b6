#include "predict.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "digits.hpp"
#include "kernels/kernels.hpp"
#include "search.hpp"

namespace labelboost {
namespace {

using Word = std::uint64_t;
constexpr std::size_t kBits = 64;  // of a word: examples of a block, and rules that are added together
// Up to so many constants are compared with a value one by one.
constexpr std::size_t kFewConstants = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_ordered(Operator op) { return op == Operator::less_equal || op == Operator::greater; }
bool is_negated(Operator op) { return op == Operator::greater || op == Operator::not_equal; }

template <typename Test>
Word which(std::span<const double> x, const Test& test) {
    Word result = 0;
    for (std::size_t n = 0; n < x.size(); ++n) result |= Word{test(x[n])} << n;
    return result;
}

// Bit j of words[i] <-> bit i of words[j]: squares of 32 x 32, 16 x 16, ... bits change places in turn.
void transpose(Word (&words)[kBits]) {
    Word low = ~Word{0} >> 32;
    for (std::size_t width = 32; width != 0; width /= 2, low ^= low << width) {
        for (std::size_t i = 0; i < kBits; i = (i + width + 1) & ~width) {
            const Word swapped = ((words[i] >> width) ^ words[i + width]) & low;
            words[i] ^= swapped << width;
            words[i + width] ^= swapped;
        }
    }
}

// Calls add(label, score) for the head entries of rule r.
template <typename Add>
void for_each_entry(const RuleArrays& rules, std::size_t r, const Add& add) {
    const auto end = static_cast<std::size_t>(rules.heads[r + 1]);
    for (auto i = static_cast<std::size_t>(rules.heads[r]); i < end; ++i) {
        add(static_cast<std::size_t>(rules.head_labels[i]), rules.head_scores[i]);
    }
}

}  // namespace

ConditionIndex::ConditionIndex(const RuleArrays& rules) : used(rules.features.size()) {
    UnfilledVectorOf<std::uint32_t> order(used.size()), other;
    std::iota(order.begin(), order.end(), 0u);
    const auto op = [&](std::uint32_t c) { return static_cast<Operator>(rules.operators[c]); };
    const auto scale_of = [&](std::uint32_t c) {
        return 2 * static_cast<std::uint64_t>(rules.features[c]) + (is_ordered(op(c)) ? 1 : 0);
    };
    sort_by_key(order, other, [&](std::uint32_t c) { return std::uint32_t{is_negated(op(c))}; });
    sort_by_key(order, other, [&](std::uint32_t c) { return sort_key(rules.values[c]); });
    sort_by_key(order, other, scale_of);
    const auto add_position = [&](double constant, bool is_negation) {
        constants.push_back(constant);
        negated.push_back(is_negation);
        return static_cast<std::uint32_t>(constants.size() - 1);
    };
    const auto end_scale = [&] {
        if (!scales.empty()) scales.back().end = add_position(kInfinity, false);
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::uint32_t c = order[i];
        const bool new_scale = i == 0 || scale_of(order[i - 1]) != scale_of(c);
        if (new_scale) {
            end_scale();
            scales.push_back({rules.features[c], is_ordered(op(c)), static_cast<std::uint32_t>(constants.size()), 0, 0});
        }
        const bool repeated = !new_scale && rules.values[order[i - 1]] == rules.values[c] &&
                              is_negated(op(order[i - 1])) == is_negated(op(c));
        used[c] = repeated ? used[order[i - 1]] : add_position(rules.values[c], is_negated(op(c)));
    }
    end_scale();
    constexpr double kZero[] = {0.0};
    for (Scale& scale : scales) locate(scale, kZero, &scale.zero);
    first_scale.assign(rules.n_features + 1, 0);
    for (const Scale& scale : scales) ++first_scale[static_cast<std::size_t>(scale.feature) + 1];
    std::partial_sum(first_scale.begin(), first_scale.end(), first_scale.begin());
}

// Binary searches, all in step: without branches that nobody could foresee, and none waits for another.
void ConditionIndex::locate(const Scale& scale, std::span<const double> x, std::uint32_t* position) const {
    std::fill_n(position, x.size(), scale.begin);
    for (std::uint32_t count = scale.end - scale.begin; count != 0; count /= 2) {
        const std::uint32_t half = (count + 1) / 2;
        const double* middle = constants.data() + half - 1;
        for (std::size_t n = 0; n < x.size(); ++n) {
            position[n] += half & (std::uint32_t{0} - (middle[position[n]] < x[n]));
        }
    }
    if (scale.ordered) return;
    for (std::size_t n = 0; n < x.size(); ++n) position[n] = constants[position[n]] == x[n] ? position[n] : scale.end;
}

// At most 64 examples on their way through the ensemble; used again for the next ones.
class Ensemble::Block {
public:
    explicit Block(const Ensemble& ensemble)
        : rules_(ensemble.rules_),
          index_(ensemble.index_),
          heads_(ensemble.heads_),
          padded_(ensemble.padded_),
          words_(index_.constants.size()),
          present_(index_.scales.size()),
          stored_(index_.scales.size()),
          scores_(kBits * padded_) {}

    void start(std::size_t examples) {
        examples_ = examples;
        std::fill(words_.begin(), words_.end(), 0);
        std::fill(present_.begin(), present_.end(), 0);
        std::fill(scores_.begin(), scores_.end(), 0.0);
    }

    template <typename T>
    void load_dense(const T* data, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride) {
        for (std::size_t s = 0; s < index_.scales.size(); ++s) {
            const T* value = data + index_.scales[s].feature * column_stride;
            double x[kBits];
            for (std::size_t n = 0; n < examples_; ++n, value += row_stride) x[n] = static_cast<double>(*value);
            mark_all(s, {x, examples_});
        }
    }

    // The row offsets begin with those of the first example.
    template <typename T>
    void load_csr(const T* data, const std::int32_t* indices, const std::int32_t* indptr) {
        std::fill(stored_.begin(), stored_.end(), 0);
        for (std::size_t n = 0; n < examples_; ++n) {
            for (std::int32_t i = indptr[n]; i < indptr[n + 1]; ++i) {
                const auto f = static_cast<std::size_t>(indices[i]);
                for (std::size_t s = index_.first_scale[f]; s < index_.first_scale[f + 1]; ++s) {
                    mark(s, n, static_cast<double>(data[i]));
                    stored_[s] |= Word{1} << n;
                }
            }
        }
        for (std::size_t s = 0; s < index_.scales.size(); ++s) {
            const Word zeros = all() & ~stored_[s];
            words_[index_.scales[s].zero] |= zeros;
            present_[s] |= zeros;
        }
    }

    // Turns the marks of examples at the first position that takes them in into all who satisfy each condition.
    void evaluate_conditions() {
        for (std::size_t s = 0; s < index_.scales.size(); ++s) {
            const Scale& scale = index_.scales[s];
            Word taken_in = 0;
            double last = std::numeric_limits<double>::quiet_NaN();
            for (std::size_t i = scale.begin; i < scale.end; ++i) {
                // Those with "= x" are marked there only, even if "!= x" follows.
                const bool still_taken_in = scale.ordered || index_.constants[i] == last;
                last = index_.constants[i];
                taken_in = words_[i] | (still_taken_in ? taken_in : 0);
                words_[i] = (taken_in ^ (Word{0} - index_.negated[i])) & present_[s];
            }
        }
    }

    // Adds the heads of `count` rules, at most kBits, from `first` on.
    void add_rules(std::size_t first, std::size_t count) {
        Word covering[kBits] = {};  // the examples of each rule, then the rules of each example
        for (std::size_t r = 0; r < count; ++r) covering[r] = coverage(first + r);
        transpose(covering);
        if (!heads_.empty()) {
            active_kernels().add_heads(scores_.data(), heads_.data() + first * padded_, padded_, covering, examples_);
            return;
        }
        for (std::size_t n = 0; n < examples_; ++n) {
            double* scores = scores_.data() + n * padded_;
            for (Word rules = covering[n]; rules != 0; rules &= rules - 1) {
                for_each_entry(rules_, first + static_cast<std::size_t>(std::countr_zero(rules)),
                               [&](std::size_t label, double score) { scores[label] += score; });
            }
        }
    }

    void set_scores(const double* source) {
        for (std::size_t n = 0; n < examples_; ++n) {
            std::copy_n(source + n * rules_.n_labels, rules_.n_labels, scores_.data() + n * padded_);
        }
    }

    void copy_scores(double* target) const {
        for (std::size_t n = 0; n < examples_; ++n) {
            std::copy_n(scores_.data() + n * padded_, rules_.n_labels, target + n * rules_.n_labels);
        }
    }

private:
    Word all() const { return ~Word{0} >> (kBits - examples_); }

    // The examples have the values x on the scale s. Missing values satisfy nothing: they are not marked anywhere.
    void mark_all(std::size_t s, std::span<const double> x) {
        const Scale& scale = index_.scales[s];
        present_[s] = which(x, [](double value) { return value == value; });
        if (scale.end - scale.begin <= kFewConstants) {
            for (std::size_t i = scale.begin; i < scale.end; ++i) {
                const double constant = index_.constants[i];
                words_[i] = scale.ordered ? which(x, [&](double value) { return value <= constant; })
                                          : which(x, [&](double value) { return value == constant; });
            }
            return;
        }
        std::uint32_t position[kBits];
        index_.locate(scale, x, position);
        for (std::size_t n = 0; n < x.size(); ++n) words_[position[n]] |= present_[s] & (Word{1} << n);
    }

    void mark(std::size_t s, std::size_t n, double x) {
        std::uint32_t position;
        index_.locate(index_.scales[s], {&x, 1}, &position);
        const Word bit = Word{x == x} << n;
        words_[position] |= bit;
        present_[s] |= bit;
    }

    Word coverage(std::size_t r) const {
        Word covered = all();
        const auto end = static_cast<std::size_t>(rules_.conditions[r + 1]);
        for (auto c = static_cast<std::size_t>(rules_.conditions[r]); c < end; ++c) covered &= words_[index_.used[c]];
        return covered;
    }

    const RuleArrays& rules_;
    const ConditionIndex& index_;
    const AlignedVector& heads_;
    std::size_t padded_;
    std::size_t examples_ = 0;
    std::vector<Word> words_;    // by position: marks first, then who satisfies the condition
    std::vector<Word> present_;  // by scale: whose value is not missing
    std::vector<Word> stored_;   // by scale: whose value is not an implicit zero
    AlignedVector scores_;       // examples x padded labels
};

Ensemble::Ensemble(RuleArrays rules)
    : rules_(std::move(rules)), index_(rules_), padded_(padded_size(rules_.n_labels)) {
    if (!keeps_matrix(rules_.head_scores.size())) return;
    heads_.assign(rules_.rules() * padded_, 0.0);
    for (std::size_t r = 0; r < rules_.rules(); ++r) {
        double* head = heads_.data() + r * padded_;
        for_each_entry(rules_, r, [&](std::size_t label, double score) { head[label] += score; });
    }
    rules_.heads = {0};
    rules_.head_labels = {};
    rules_.head_scores = {};
}

Ensemble::Ensemble(RuleArrays bodies, const double* heads)
    : rules_(std::move(bodies)), index_(rules_), padded_(padded_size(rules_.n_labels)) {
    const std::size_t labels = n_labels();
    rules_.heads = {0};
    if (keeps_matrix(size() * labels - static_cast<std::size_t>(std::count(heads, heads + size() * labels, 0.0)))) {
        heads_.assign(size() * padded_, 0.0);
        for (std::size_t r = 0; r < size(); ++r) std::copy_n(heads + r * labels, labels, heads_.data() + r * padded_);
        return;
    }
    for (std::size_t r = 0; r < size(); ++r, heads += labels) {
        for (std::size_t k = 0; k < labels; ++k) {
            if (heads[k] == 0.0) continue;
            rules_.head_labels.push_back(static_cast<std::int32_t>(k));
            rules_.head_scores.push_back(heads[k]);
        }
        rules_.heads.push_back(static_cast<std::int64_t>(rules_.head_scores.size()));
    }
}

RuleArrays Ensemble::arrays() const {
    RuleArrays result = rules_;
    for (std::size_t r = 0; r * padded_ < heads_.size(); ++r) {
        for (std::size_t k = 0; k < n_labels(); ++k) {
            result.head_labels.push_back(static_cast<std::int32_t>(k));
            result.head_scores.push_back(heads_[r * padded_ + k]);
        }
        result.heads.push_back(static_cast<std::int64_t>(result.head_scores.size()));
    }
    return result;
}

template <typename Load>
void Ensemble::predict_blocks(std::size_t examples, const Load& load, const Stages& stages,
                              double* scores, ThreadPool& pool, Interrupt& interrupt) const {
    std::vector<std::optional<Block>> blocks(pool.size());  // only the threads that are needed make one
    pool.run((examples + kBits - 1) / kBits, interrupt, [&](std::size_t part, std::size_t thread) {
        Block& block = blocks[thread] ? *blocks[thread] : blocks[thread].emplace(*this);
        const std::size_t first = part * kBits;
        block.start(std::min(kBits, examples - first));
        load(block, first);
        block.evaluate_conditions();
        if (stages.start != nullptr) block.set_scores(stages.start + first * n_labels());
        std::size_t done = stages.first;
        for (std::size_t s = 0; s < stages.stops.size(); ++s) {
            for (const auto stop = static_cast<std::size_t>(stages.stops[s]); done < stop;) {
                interrupt.check();
                const std::size_t count = std::min(kBits, stop - done);
                block.add_rules(done, count);
                done += count;
            }
            block.copy_scores(scores + (s * examples + first) * n_labels());
        }
    });
}

template <typename T>
void Ensemble::predict_dense(const T* data, std::size_t examples, std::ptrdiff_t row_stride,
                             std::ptrdiff_t column_stride, const Stages& stages, double* scores,
                             ThreadPool& pool, Interrupt& interrupt) const {
    const auto load = [&](Block& block, std::size_t first) {
        block.load_dense(data + static_cast<std::ptrdiff_t>(first) * row_stride, row_stride, column_stride);
    };
    predict_blocks(examples, load, stages, scores, pool, interrupt);
}

template <typename T>
void Ensemble::predict_csr(std::span<const T> data, std::span<const std::int32_t> indices,
                           std::span<const std::int32_t> indptr, const Stages& stages, double* scores,
                           ThreadPool& pool, Interrupt& interrupt) const {
    const auto load = [&](Block& block, std::size_t first) {
        block.load_csr(data.data(), indices.data(), indptr.data() + first);
    };
    predict_blocks(indptr.size() - 1, load, stages, scores, pool, interrupt);
}

template void Ensemble::predict_dense<float>(const float*, std::size_t, std::ptrdiff_t, std::ptrdiff_t,
                                             const Stages&, double*, ThreadPool&, Interrupt&) const;
template void Ensemble::predict_dense<double>(const double*, std::size_t, std::ptrdiff_t, std::ptrdiff_t,
                                              const Stages&, double*, ThreadPool&, Interrupt&) const;
template void Ensemble::predict_csr<float>(std::span<const float>, std::span<const std::int32_t>,
                                           std::span<const std::int32_t>, const Stages&, double*,
                                           ThreadPool&, Interrupt&) const;
template void Ensemble::predict_csr<double>(std::span<const double>, std::span<const std::int32_t>,
                                            std::span<const std::int32_t>, const Stages&, double*,
                                            ThreadPool&, Interrupt&) const;

}  // namespace labelboost
