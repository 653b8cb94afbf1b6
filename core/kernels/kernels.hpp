// The arithmetic that decides the training time, compiled once per instruction set.
//
// `kernels.cpp` is compiled several times with different compiler flags, each time into a namespace of its
// own, and fills one table of function pointers. `active_kernels()` picks the best table the machine can
// run; the environment variable LABELBOOST_ISA (portable, avx2, avx512) forces one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../activity.hpp"
#include "../layout.hpp"
#include "../losses.hpp"

namespace labelboost {

// Examples that a screening kernel takes at a time, at most: few enough for sums in single precision.
constexpr std::size_t kScreenBlock = 2048;
// Labels that screening kernels can deal with, at most.
constexpr std::size_t kMostScreenLabels = 4096;
// Examples per lane between two systems (see leaps.hpp).
constexpr std::size_t kShortLeap = 8, kLongLeap = 16;
// So many lists of at most so many examples can be dealt with at once (see leaps.hpp).
constexpr std::size_t kShortLists = 4, kLongestShort = 256;
// Single precision is trusted as long as no pivot lost more than all but this share of its diagonal element.
constexpr float kLeastKept = 2e-3f;

// ... and for regions that were found by subtraction, as long as they are not a smaller share of all than this.
constexpr double kLeastShare = 1e-3;

// Rows of numbers, which are added up in tiles: first so many numbers of all rows, then the next ones of all rows, and
// so on, so that what they are added to stays in the cache.
struct Tiles {
    std::size_t size = 0;   // numbers in a row, a multiple of 16
    std::size_t width = 0;  // of them in a tile, but for the last one

    std::size_t count() const { return (size + width - 1) / width; }
    std::size_t width_of(std::size_t tile) const { return tile * width + width < size ? width : size - tile * width; }
};

// How far the rows of a histogram are apart: an odd number of cache lines, as parts of rows that lie a power of two
// apart would compete for the same places in the cache.
constexpr std::size_t histogram_pitch(std::size_t size) { return size | 16; }

// Examples that become rows. Kernels look everything up themselves: to hand it to them would be half of the work.
struct PackTask {
    const std::int32_t* examples;
    std::size_t count;
    std::size_t following;  // examples behind these, which will be needed next; 0 where all are near
    const float* gradients;     // padded to 16, so many numbers apart:
    std::size_t stride;
    bool packed;  // those of the given examples only, one after the other
    const double* weights;  // by example
    const double* slacks;
    std::size_t labels;

    [[gnu::always_inline]] const float* gradient(std::size_t m) const {
        return gradients + (packed ? m : static_cast<std::size_t>(examples[m])) * stride;
    }
    [[gnu::always_inline]] float weight(std::size_t m) const { return static_cast<float>(weights[examples[m]]); }
    [[gnu::always_inline]] float slack(std::size_t m) const { return static_cast<float>(slacks[examples[m]]); }
    // Asks for what a later example needs, one at a time, so that it arrives while there is something else to do.
    [[gnu::always_inline]] void prefetch_ahead(std::size_t m) const {
        constexpr std::size_t kAhead = 64;
        if (m + kAhead >= count + following) return;
        const float* const later = gradients + static_cast<std::size_t>(examples[m + kAhead]) * stride;
        for (std::size_t c = 0; c < labels; c += 16) __builtin_prefetch(later + c);
    }
};

// Histograms that rows are added to by the block of ranks of their example, those of several features. The row of what has
// no value, whose rank is -1, lies before that of the first block.
struct RankTargets {
    float* const* histograms;
    const std::int32_t* const* ranks;  // by feature and example
    const int* shifts;                 // by feature: a block has 2^shift ranks
    std::size_t features;
    const PackTask& source;  // what the rows were made from
    std::size_t pitch;
};

// Which labels' gradients, times the weight, are multiplied to give the numbers of a row. Instead of a second label:
struct RowFactors {
    static constexpr std::int32_t kAlone = -1, kSize = -2;  // the first one alone, or its absolute value
    const std::int32_t* first;
    const std::int32_t* second;
};

// Rows of `size` numbers, one for each example that has a number.
struct NumberedRows {
    const float* values;
    std::size_t size;
    const std::int32_t* number;  // by example
};

// What the part before a split has in addition to that of the split before: places in a list.
struct SplitStep {
    std::uint32_t begin, end;
    bool starts_anew;  // nothing in common with the part before
};

// Examples that a new head covers, and their gradients. raise and lower: exponentials of the head, and of its negative.
struct AdvanceTask {
    const double* raise;
    const double* lower;
    std::size_t padded;
    double* gradients;
    float* rounded;  // the same in single precision, so many numbers apart; null: not kept
    std::size_t rounded_stride;
    double* slacks;
    const std::int32_t* examples;
    std::size_t count;
    bool far;  // whether rows should be asked for before they are needed
};

// Examples whose statistics are added up at a time, at most.
constexpr std::size_t kMostTogether = 32;

// Known label vectors that are screened together.
constexpr std::size_t kScreenGroup = 16;

// A block of examples in the order of a feature's values, whose splits are to be scored approximately.
struct ScreenTask {
    const float* const* rows;    // gradients in single precision, padded to 16
    bool far;                    // whether they should be asked for before they are needed
    const float* weights;        // of the examples, one after the other
    const std::uint8_t* wanted;  // bit 0, 1: the region up to, or behind, the example is a candidate
    const std::uint32_t* slots;  // numbers of the former candidates; those of the latter differ in the last bit
    std::uint32_t feature;       // a number for it
    std::size_t count;           // at most kScreenBlock
    std::size_t labels;
    const double* total;    // sums of all examples of the feature, in the kernel's form
    double* before;         // sums of the examples before this block; advanced past it
    double total_weight;    // the same for the weights of the examples
    double* weight_before;
    double l2, noise;
    const float* bins_for;  // number of bins of a sign by the number of its labels, 16 at least; null: no label bins
    bool exact;             // aggregation
    bool single;            // single-label heads, in diagonal form
    ActivityMark* activity;
};

// A candidate that may be the best. quality: approximate, or -infinity if it could not be told.
struct ScreenFinding {
    std::uint32_t feature, slot;
    float quality;
};

// What a search by leaps knows of the features so far.
struct LeapState {
    // Regions that are to be looked at: the examples that join them, and which candidates arise.
    struct Lane {
        const float* rows[kLongLeap];
        float weights[kLongLeap];
        bool wanted[kLongLeap];
        float bounds[kLongLeap];  // on the qualities of the candidates; -infinity: nothing is known
        std::uint32_t slots[kLongLeap];
        std::size_t count;
        std::uint32_t feature;
        float region;  // sum of the weights at the beginning
        float least;   // regions of smaller weight, found by subtraction, are in doubt
    };

    float reached = 0.0f;           // a quality that something has
    const double* total = nullptr;  // sums of all that is covered
    float* sums = nullptr;          // of the regions: leap_sums_size
    std::size_t waiting = 0;
    Lane lanes[16] = {};
    ScreenFinding* findings = nullptr;
    std::size_t found = 0;

    // What is worse than this, by an approximate quality or bound, cannot be the best.
    [[gnu::always_inline]] float limit() const { return (1.0f - 2e-3f) * reached; }
    // Whether the candidate after the t-th example of a lane may be the best, for all that is known by now.
    [[gnu::always_inline]] bool is_open(const Lane& lane, std::size_t t) const {
        return lane.wanted[t] && !(lane.bounds[t] > limit());
    }
};

// What is known of the gain of the best head of a region.
struct GainBounds {
    double lower, upper;
    double at_head;  // the gain of the given head
};

// The ranks with which a condition is satisfied: `count` of them from `first` on, or all others. None of them stands for a
// missing value, which is negative.
struct RankRange {
    std::int32_t first, count;
    bool others;

    [[gnu::always_inline]] bool drops(std::int32_t rank) const {
        const bool within = static_cast<std::uint32_t>(rank - first) < static_cast<std::uint32_t>(count);
        return (rank < 0) | (within == others);
    }
};

struct Kernels {
    const char* name;

    // Whether any number is infinite.
    bool (*any_infinite_float)(const float* values, std::size_t count);
    bool (*any_infinite_double)(const double* values, std::size_t count);

    // out[i] = draw number begin + i of the stream with this key: a number below n, which must be less than 2^31.
    void (*draw)(std::uint64_t key, std::size_t begin, std::size_t count, std::uint32_t n, std::uint32_t* out);

    // Moves the examples whose ranks satisfy a condition to `kept`, and the others, unless it is null, to `dropped`, in their
    // order. Either may be where the examples are; there must be room for all of them. Returns how many are kept.
    std::size_t (*keep_ranks)(const std::int32_t* examples, std::size_t count, const std::int32_t* rank_of, RankRange range,
                              std::int32_t* kept, std::int32_t* dropped);

    // scores += head; returns the largest size of a score, before or after.
    double (*add_scores)(double* scores, const double* head, std::size_t padded);
    // The gradient of the example-wise loss for one example; returns its slack.
    double (*example_gradient)(const double* scores, const std::int8_t* signs, std::size_t padded, double* gradient);
    // Those of several examples after a head was added, and their slacks, from the old ones. Not for huge scores, whose
    // exponentials may have vanished.
    void (*advance_gradients)(const AdvanceTask& task);
    // The gradients of the label-wise loss at single scores, in vectors of kLanes; signs: +1 or -1.
    void (*label_gradients)(const double* scores, const double* signs, std::size_t count, double* gradients);
    // Turns logits into probabilities, in place; padded memory.
    void (*softmax)(double* values, std::size_t count);
    // Probabilities times factors, divided by their sum; size a multiple of kLanes.
    void (*advance_distribution)(double* probabilities, const double* factors, std::size_t size);
    // sums[kLanes k + i] += the probabilities by distribution i of all sets with label k; first, members: see LabelSets.
    void (*add_marginals)(const double* const* distributions, std::size_t sets, const std::size_t* first,
                          const std::uint32_t* members, double* sums);
    double (*loss_value)(Loss loss, const double* scores, const std::int8_t* signs, std::size_t padded,
                         double* scratch);

    // sums += the statistics of `count` examples, kMostTogether at most. rows[m]: padded gradients, weights[m]: weight;
    // slacks[m]: slack, or null where the sums have no room for it; own: the labels whose sums are added to.
    void (*add_diagonal)(double* sums, const double* const* rows, const double* weights, std::size_t count,
                         std::size_t labels, LabelBlocks own);
    void (*add_rounded_diagonal)(double* sums, const float* const* rows, const double* weights, std::size_t count,
                                 std::size_t labels, LabelBlocks own);
    // With the rows of the Gram matrix that belong to these labels. ahead: as many rows that will be needed next, or
    // null where they are near.
    void (*add_joint)(double* sums, const double* const* rows, const double* weights, const double* slacks,
                      std::size_t count, std::size_t labels, LabelBlocks own, const double* const* ahead);

    // The same for profiles; head: null or padded with zeros.
    void (*add_profile)(double* sums, const double* const* rows, const double* weights, const double* slacks,
                        std::size_t count, std::size_t labels, const double* head);
    // Bounds for the region with the profile `whole`, or `whole - part` if there is a part. With a head (the one
    // that the profiles were made with) its residual is stored unless null; without one only `upper` is known.
    GainBounds (*bound_gain)(const double* whole, const double* part, std::size_t labels, const double* head, double l2,
                             double noise, double* residual);
    // Residuals at a head as rows of residual_row_size numbers in single precision; head: padded to 16.
    void (*pack_residuals)(const PackTask& task, const float* head, float* rows);
    // Rows of signed_row_size numbers for label-wise training.
    void (*pack_signed)(const PackTask& task, float* rows);
    // Adds rows, or parts of them, to histograms; width: of the part, size: of whole rows. Ranks of examples that lie `ahead`
    // of each one in memory are asked for.
    void (*add_ranked_rows)(const float* rows, std::size_t count, std::size_t width, std::size_t size,
                            const RankTargets& targets, std::size_t ahead);
    // Bounds for the region with these sums, or `whole - part` if there is a part. additive: of everything covered; binned:
    // with label bins only `upper` is known. rounding: how far the last sums of the two may be off, relative to the sizes
    // of what was added up.
    GainBounds (*bound_residual)(const double* whole, const double* part, const double* additive, std::size_t labels,
                                 const double* head, bool binned, double l2, double noise, double rounding);
    // product += the Hessian of the examples times the head.
    void (*add_hessian_product)(double* product, const double* const* rows, const double* weights, std::size_t count,
                                std::size_t labels, const double* head);

    // sums += weight * row; all aligned, size a multiple of kLanes.
    void (*add_row)(double* sums, const double* row, double weight, std::size_t size);
    // out = whole - part, all aligned, size a multiple of kLanes.
    void (*subtract)(double* out, const double* whole, const double* part, std::size_t size);

    // Quality of a complete head in flat form, and of a complete or single-label one in diagonal form; of the sums
    // `whole - part` if there is a part.
    double (*score_flat)(const double* whole, const double* part, std::size_t labels, double l2, double noise);
    double (*score_diagonal)(const double* whole, const double* part, std::size_t labels, double l2, double noise,
                             bool single);

    // Qualities of kLanes complete heads in joint form, without label bins. sums: kLanes regions, `stride` doubles
    // apart; scratch: lane_scratch_size(labels) doubles.
    void (*score_joint_lanes)(const double* sums, std::size_t stride, std::size_t labels, double l2, double noise,
                              double* scratch, double* quality);

    // Qualities of kLanes systems of `n` unknowns that are interleaved in `system` (see cholesky.hpp).
    void (*score_lanes)(double* system, std::size_t n, double noise, double* quality);

    // Factorises the rows [begin, end) of one system in place, those before being done already, and returns
    // their share of its quality. Row i of the upper triangle starts at system + i * stride; column n holds
    // the right-hand side and receives the forward solution.
    double (*factorise)(double* system, std::size_t stride, std::size_t n, double noise, std::size_t begin,
                        std::size_t end);

    // The solution of what `factorise` made of a system, padded; unknowns that were dropped are 0.
    void (*back_substitute)(const double* system, std::size_t stride, std::size_t n, double* solution);
    // The same with another right-hand side; inverse_diagonal: 1 / U[i][i], none of which may have been dropped; vectors
    // padded, scratch is one more.
    void (*solve_factored)(const double* system, std::size_t stride, std::size_t n, const double* inverse_diagonal,
                           const double* vector, double* scratch, double* solution);

    // Approximate qualities of the regions up to and including each example, and of those behind it, in the order of
    // the steps (see screen_steps); -infinity: not decided. scratch: screen_scratch_size(labels, joint, bins per sign) floats.
    // screen_signed: one bin per sign with the paper's aggregation only.
    void (*screen_joint)(const ScreenTask& task, float* scratch, float* first, float* rest);
    void (*screen_signed)(const ScreenTask& task, float* scratch, float* first, float* rest);
    void (*screen_diagonal)(const ScreenTask& task, float* scratch, float* first, float* rest);
    // The same for candidates on their own, of which only those are found that may be the best. Without examples, what
    // waits is brought to an end. findings: room for two per example and all that waits. scratch: leap_scratch_size.
    // lists: one, or kShortLists of them that are walked along side by side; nothing may be before these, their totals must
    // be the same, and none may be longer than kLongestShort.
    void (*leap_joint)(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch);
    void (*leap_signed)(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch);
    void (*leap_diagonal)(const ScreenTask* lists, std::size_t count, LeapState& state, float* scratch);

    // The sums of the regions of splits: for each of them the row of its part, then that of the rest of the total. examples:
    // as they are listed.
    void (*add_up_splits)(const NumberedRows& rows, const std::int32_t* examples, const SplitStep* steps, std::size_t count,
                          const float* total, float* out);
    // Of sixteen such regions, a bit for each one that a bound does not rule out; and their qualities, -infinity: not
    // decided. Only what does not depend on examples is taken from the task. scratch: screen_scratch_size(labels, bins per
    // sign) floats. reached: the best quality that is known.
    unsigned (*promising_regions)(const float* const* rows, const float* total, const ScreenTask& task, float* scratch,
                                  float reached);
    // subtracted: per region, -1 if it is a rest, else 0; by_sign: one bin per sign with the paper's aggregation. Lowers what
    // is reached, and returns a bit for each region that may be the best by then.
    unsigned (*score_regions)(const float* const* rows, const std::int32_t* subtracted, const float* total,
                              const ScreenTask& task, bool by_sign, float* scratch, float* quality, float& reached);

    // Rows of gradients and Hessians in single precision, and the qualities of regions from such rows (see packed.hpp).
    void (*pack_joint)(const double* gradient, double weight, std::size_t labels, float* out);
    // In diagonal form for rules: the gradients, then the diagonal of the Hessian, neither of them padded.
    void (*pack_diagonal)(const PackTask& task, float* rows);
    // In joint form for rules: rows of packed_sums_size numbers.
    void (*pack_sums)(const PackTask& task, const RowFactors& factors, float* rows);
    // The same, in the order of SortedSums: sums += those of examples whose gradients, padded to 16, follow one
    // another.
    void (*add_sorted_sums)(float* sums, const float* gradients, const float* weights, std::size_t count,
                            std::size_t labels);
    // Adds rows, or parts of them, to rows of a histogram: row i, or row numbers[i], to that of slots[i]. size: of whole
    // rows; pitch: of the histogram.
    void (*add_rows)(float* histogram, const std::int32_t* slots, const float* rows, const std::int32_t* numbers,
                     std::size_t count, std::size_t width, std::size_t size, std::size_t pitch);
    // out = a + b, all aligned, size a multiple of 16.
    void (*add_floats)(float* out, const float* a, const float* b, std::size_t size);
    void (*score_packed)(const float* const* rows, std::size_t labels, float l2, float noise, float* system,
                         float* quality);
    void (*score_packed_sums)(const float* const* rows, const ScreenTask& task, float* scratch, float* quality);
    void (*score_packed_flat)(const float* const* rows, std::size_t labels, float l2, float noise, float* quality);
    // hessian: where the diagonal begins; there must be room for sixteen numbers from any one on.
    void (*score_packed_diagonal)(const float* const* rows, std::size_t labels, std::size_t hessian, float l2,
                                  float noise, bool single, float* quality);

    // Assigns each label to a bin (-1: its criterion is zero); returns the number of bins, all non-empty. Vectors over the
    // labels are padded; gradients there must be zero.
    std::int32_t (*map_to_bins)(const double* gradient, const double* hessian, std::size_t labels, double l2,
                                double noise, const BinSettings& settings, std::int32_t* bin, std::int32_t* bin_size,
                                double* scratch);

    // Adds up the part of a joint Hessian that is not additive over the bins: `hessian` receives the upper triangle of the
    // bins x bins matrix (row major); its diagonal is left 0 unless exact. Of the sums `whole - part` if there is a part.
    // order, first: as below, the last label of a bin first; scratch: aggregate_scratch_size.
    void (*aggregate_gram)(const double* whole, const double* part, std::size_t labels, const std::int32_t* order,
                           const std::int32_t* first, std::size_t bins, bool exact, double* scratch, double* hessian);

    // hessian (bins rows of padded_size(bins), upper triangle) += factor times the Gram matrix of the examples' gradients,
    // added up over the bins. order: the labels by bin; those of bin b stand from first[b] to first[b + 1]. scratch:
    // binned_gram_scratch_size.
    void (*add_binned_gram)(const double* const* rows, const double* weights, std::size_t count, std::size_t labels,
                            const std::int32_t* order, const std::int32_t* first, std::size_t bins, double factor,
                            double* scratch, double* hessian);

    // The same Gram matrix times a head (one score per bin), without its diagonal unless exact; products: kLanes per bin,
    // which are to be added up. numbers: of the bins, by label; -1: of none, as for the padding. order and first are not
    // needed for kFewBins. scratch: binned_products_scratch_size.
    void (*add_binned_products)(const double* const* rows, const double* weights, std::size_t count, std::size_t labels,
                                const double* numbers, const std::int32_t* order, const std::int32_t* first,
                                std::size_t bins, bool exact, const double* head, double factor, double* scratch,
                                double* products);

    // product = the Gram matrix of a region's sums times a head, both by label and padded; unless exact, without the
    // elements of labels of the same bin.
    void (*multiply_gram)(const double* sums, std::size_t labels, const double* numbers, bool exact, const double* head,
                          double* product);
    // The sum of the elements of a Gram matrix between labels of bin 0 and of bin 1; of the sums `whole - part` if there is a
    // part. scratch: 3 padded vectors.
    double (*sum_of_pairs)(const double* whole, const double* part, std::size_t labels, const double* numbers,
                           double* scratch);

    // sums (count x bins) = vectors over the labels, added up over the bins.
    void (*sum_over_bins)(const double* const* values, std::size_t count, std::size_t labels, const std::int32_t* bin,
                          const double* numbers, std::size_t bins, double* sums);

    // Prediction. scores (examples x padded) += the heads (rules x padded) of the covering rules, in their order;
    // bit r of covering[n]: rule r covers example n.
    void (*add_heads)(double* scores, const double* heads, std::size_t padded, const std::uint64_t* covering,
                      std::size_t examples);

    // Approximate costs (known x kLanes) of the known label vectors, given by the lists of their labels, for kLanes
    // examples with `scores` (labels x kLanes, overwritten); the smallest of each group of kScreenGroup vectors, and
    // the cost of the empty one.
    void (*screen_known)(Loss loss, double* scores, std::size_t labels, const std::size_t* offsets,
                         const std::uint32_t* members, std::size_t known, double* costs, double* smallest,
                         double* empty);
};

constexpr std::size_t aggregate_scratch_size(std::size_t labels, std::size_t bins) {
    return (padded_size(bins) + kLanes) * padded_size(labels) + bins * padded_size(bins);
}

// So few bins have a way of their own in add_binned_gram.
constexpr std::size_t kFewBins = 4;
constexpr std::size_t binned_gram_scratch_size(std::size_t labels, std::size_t bins) {
    return bins <= kFewBins ? kLanes * bins : kLanes * (padded_size(labels) + 2 * padded_size(bins));
}

constexpr std::size_t binned_products_scratch_size(std::size_t labels, std::size_t bins) {
    return kLanes * ((bins <= kFewBins ? 0 : padded_size(labels)) + bins);
}

// Doubles in an interleaved upper triangle with its right-hand side, for `n` unknowns.
constexpr std::size_t lane_scratch_size(std::size_t n) { return kLanes * (n * (n + 3) / 2); }

// A screening kernel cuts its examples into sixteen pieces of equal length, walked side by side, and leaves its
// results in that order: the first of every piece, then the second of every piece and so on.
constexpr std::size_t kScreenLanes = 16;
constexpr std::size_t screen_steps(std::size_t count) { return (count + kScreenLanes - 1) / kScreenLanes; }
constexpr std::size_t screen_result_size(std::size_t count) { return kScreenLanes * screen_steps(count); }

constexpr std::size_t screen_scratch_size(std::size_t labels, bool joint, std::size_t bins_per_sign) {
    const std::size_t bins = 2 * bins_per_sign;
    const std::size_t gathered = (labels + 2) * (kScreenBlock / 16);
    if (!joint) return 16 * (gathered + 4 * labels);
    const std::size_t sums = 2 * (2 * labels + labels * (labels + 1) / 2 + 1);
    const std::size_t exact = labels * (labels + 3) / 2;
    const std::size_t binned = 2 * labels + labels * bins + (labels + bins) * (bins + 2) + bins * (bins + 3) / 2;
    return 16 * (gathered + sums + (exact > binned ? exact : binned));
}

// The same for leaps, and floats for the sums of what waits.
constexpr std::size_t leap_sums_size(std::size_t labels, bool joint) {
    return 16 * (joint ? 2 * labels + labels * (labels + 1) / 2 + 1 : 3 * labels);
}
constexpr std::size_t leap_scratch_size(std::size_t labels, bool joint, std::size_t bins_per_sign) {
    constexpr std::size_t kSteps = kScreenBlock / 16;
    const std::size_t gathered = 16 * (labels + 3) * kSteps;
    const std::size_t sums = leap_sums_size(labels, joint) * (kSteps / kShortLeap + 2);
    const std::size_t ahead = 16 * labels * (kLongLeap + 5);
    return gathered + sums + ahead + screen_scratch_size(labels, joint, bins_per_sign);
}

// Floats in a row of residuals (see residuals.hpp): its sections are not padded.
constexpr std::size_t residual_row_size(std::size_t labels) { return padded_floats(2 * labels + 3); }

// Floats in a row of label-wise training, of three sections and one number. Up to seven labels the vectors of the second
// section would reach beyond that.
constexpr std::size_t signed_row_size(std::size_t labels) {
    const std::size_t sections = 3 * labels + 1, reached = labels + padded_floats(labels);
    return padded_floats(sections > reached ? sections : reached);
}

constexpr std::size_t diagonal_row_size(std::size_t labels) { return padded_floats(2 * labels); }

// Floats in a row of sums for rules, padded, and what it takes to score sixteen of them.
constexpr std::size_t packed_sums_size(std::size_t labels) {
    return padded_floats(2 * labels + labels * (labels + 1) / 2);
}
constexpr std::size_t packed_scratch_size(std::size_t labels, std::size_t bins_per_sign) {
    return 16 * packed_sums_size(labels) + screen_scratch_size(labels, true, bins_per_sign);
}

const Kernels& active_kernels();

}  // namespace labelboost
