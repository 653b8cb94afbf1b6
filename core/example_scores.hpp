// The scores of a loss that does not treat labels separately, example by example.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace labelboost {

// Gradients mostly advance without the scores, which take more memory than anything else that a rule changes. So heads are
// kept for later: an example has a bit for each of the last ones, and all of them are added at a time, in their order.
class ExampleScores {
public:
    static constexpr std::size_t kMostPending = 64;

    ExampleScores(std::size_t examples, std::size_t labels) : scores_(examples, labels), pending_(examples, 0) {}

    // A head to be added later: those examples that are marked are covered.
    class Later {
    public:
        void mark(std::int32_t example) const { pending_[static_cast<std::size_t>(example)] |= bit_; }

    private:
        friend class ExampleScores;
        Later(std::vector<std::uint64_t>& pending, std::uint64_t bit) : pending_(pending), bit_(bit) {}
        std::vector<std::uint64_t>& pending_;
        std::uint64_t bit_;
    };
    bool room_for_later() const { return largest_heads_.size() < kMostPending; }
    Later add_later(const AlignedVector& head, double largest);
    // Adds all that is pending. From then on rows may be changed, until something is to be added later.
    void catch_up(ThreadPool& pool);
    double* row(std::int32_t example) { return scores_.row(example); }
    void prefetch(std::int32_t example) const { scores_.prefetch(example); }

    // No score is larger than this, nor was one since the last time that all was added up; grown: by how much rows that were
    // changed may have grown.
    double largest() const;
    void note_growth(double grown) { largest_ += grown; }
    void copy(std::size_t example, std::size_t labels, double* out) const;
    void reset();

private:
    LabelRows<double> scores_;
    std::vector<std::uint64_t> pending_;  // by example
    AlignedVector heads_;                 // pending ones, padded
    std::vector<double> largest_heads_;
    double largest_ = 0.0;  // without what is pending
};

}  // namespace labelboost
