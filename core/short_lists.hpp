// Approximate qualities of the candidates of short lists, and of nominal features: few per feature, but those of all features
// of a search are scored together, sixteen at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "listing.hpp"
#include "packed.hpp"
#include "settings.hpp"
#include "statistics.hpp"

namespace labelboost {

// The sampled examples of a rule as rows of single precision, made when they are first needed: for small samples.
class SampleRows {
public:
    SampleRows(const Form& form, const Settings& settings, std::size_t examples);

    // Whether there can be rows for a sample of this size.
    bool possible(std::size_t sampled) const;
    // Whether a feature may well have few splits among so many examples.
    static bool useful(const Column& column, std::size_t sampled);

    void forget() { filled_ = false; }
    bool filled() const { return filled_; }
    void fill(const Gradients& gradients, const std::vector<double>& weights, const std::vector<std::int32_t>& sample,
              ThreadPool& pool, Interrupt& interrupt);

    NumberedRows rows() const { return {rows_.tile(0), rows_.tiles().size, number_.data()}; }

private:
    bool possible_;
    bool filled_ = false;
    PackedRows rows_;
    std::vector<std::int32_t> number_;  // by example
};

// One per thread.
class ShortLists {
public:
    // Lists with up to so many splits are short if there are few of them: leaps are made along several lists at once.
    static constexpr std::size_t kMostSplits = 128;

    ShortLists(const Form& form, const Settings& settings);

    // Starts a search. task: what does not depend on examples; total: sums of all that is covered; reached: what something
    // attains.
    void begin(const ScreenTask& task, const AlignedVector& total, double reached);
    // Takes the candidates of a feature, of which nothing is missing, that cover `least` examples or more; of all its pairs,
    // or of some.
    void add(const SampleRows& rows, const Listing& listing, std::size_t feature, std::size_t least);
    void add(const SampleRows& rows, const Listing& listing, std::span<const CandidatePair> pairs, std::size_t feature,
             std::size_t least);
    // Scores what was added; all that may be the best is then among the findings.
    void finish();
    std::span<const ScreenFinding> findings() const { return findings_; }

private:
    static constexpr std::size_t kTogether = 16;

    struct Candidate {
        std::uint32_t feature, slot;
        std::uint32_t row;
        bool subtracted;
    };
    template <typename ForEachPair>
    void add_pairs(const SampleRows& rows, const Listing& listing, std::size_t pairs, const ForEachPair& for_each_pair,
                   std::size_t feature, std::size_t least);
    // Sixteen of the candidates, or fewer: their rows, one of them repeated if need be.
    struct Rows {
        const float* of[kTogether];
    };
    Rows rows(std::span<const Candidate> candidates) const;
    void score(std::span<const Candidate> candidates);

    bool by_sign_;
    ScreenTask task_{};
    float reached_ = 0.0f;
    AlignedVectorOf<float> total_;
    AlignedRoomOf<float> rows_;  // two for each split
    AlignedRoomOf<float> scratch_;
    std::size_t rows_count_ = 0;
    UnfilledVectorOf<SplitStep> steps_;
    UnfilledVectorOf<Candidate> candidates_;
    std::vector<ScreenFinding> findings_;
};

}  // namespace labelboost
