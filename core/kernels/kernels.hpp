// The arithmetic that decides the training time, compiled once per instruction set.
//
// `kernels.cpp` is compiled several times with different compiler flags, each time into a namespace of its
// own, and fills one table of function pointers. `active_kernels()` picks the best table the machine can
// run; the environment variable LABELBOOST_ISA (portable, avx2, avx512) forces one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../layout.hpp"
#include "../losses.hpp"

namespace labelboost {

// Examples that a screening kernel takes at a time, at most: few enough for sums in single precision.
constexpr std::size_t kScreenBlock = 4096;
// Single precision is trusted as long as no pivot lost more than all but this share of its diagonal element.
constexpr float kLeastKept = 2e-3f;

// Known label vectors that are screened together.
constexpr std::size_t kScreenGroup = 16;

// A block of examples in the order of a feature's values, whose splits are to be scored approximately.
struct ScreenTask {
    const float* const* rows;    // gradients in single precision, padded to 16
    const float* weights;        // of the examples, one after the other
    const std::uint8_t* wanted;  // not 0: there is a split behind the example
    std::size_t count;           // at most kScreenBlock
    std::size_t labels;
    const double* total;    // sums of all examples of the feature, in the kernel's form
    double* before;         // sums of the examples before this block; advanced past it
    double l2, noise;
    const float* bins_for;  // number of bins of a sign by the number of its labels; null: no label bins
    bool exact;             // aggregation
    bool single;            // single-label heads, in diagonal form
};

struct Kernels {
    const char* name;

    // The gradient of one example after its scores in the label blocks [begin, end) changed, and its loss.
    void (*update_gradient)(Loss loss, const double* scores, const std::int8_t* signs, std::size_t padded,
                            std::size_t begin, std::size_t end, double* gradient);
    double (*loss_value)(Loss loss, const double* scores, const std::int8_t* signs, std::size_t padded,
                         double* scratch);

    // sums += the statistics of `count` examples. rows[m]: padded gradients, weights[m]: weight.
    void (*add_diagonal)(double* sums, const double* const* rows, const double* weights, std::size_t count,
                         std::size_t labels);
    void (*add_joint)(double* sums, const double* const* rows, const double* weights, std::size_t count,
                      std::size_t labels);

    // out = whole - part, all aligned, size a multiple of kLanes.
    void (*subtract)(double* out, const double* whole, const double* part, std::size_t size);

    // Quality of a complete or single-label head in diagonal form; of the sums `whole - part` if there is a part.
    double (*score_diagonal)(const double* whole, const double* part, std::size_t labels, double l2, double noise,
                             bool single);

    // Qualities of kLanes complete heads in joint form, without label bins. sums: kLanes regions one after
    // the other; scratch: lane_scratch_size(labels) doubles.
    void (*score_joint_lanes)(const double* sums, std::size_t labels, double l2, double noise, double* scratch,
                              double* quality);

    // Qualities of kLanes systems of `n` unknowns that are interleaved in `system` (see cholesky.hpp).
    void (*score_lanes)(double* system, std::size_t n, double noise, double* quality);

    // Factorises the rows [begin, end) of one system in place, those before being done already, and returns
    // their share of its quality. Row i of the upper triangle starts at system + i * stride; column n holds
    // the right-hand side and receives the forward solution.
    double (*factorise)(double* system, std::size_t stride, std::size_t n, double noise, std::size_t begin,
                        std::size_t end);

    // Approximate qualities of the regions up to and including each example, and of those behind it;
    // -infinity: not decided. scratch: screen_scratch_size(labels, bins per sign) floats.
    void (*screen_joint)(const ScreenTask& task, float* scratch, float* first, float* rest);
    void (*screen_diagonal)(const ScreenTask& task, float* scratch, float* first, float* rest);

    // Assigns each label to a bin (-1: its criterion is zero); returns the number of bins, all non-empty.
    std::int32_t (*map_to_bins)(const double* gradient, const double* hessian, std::size_t labels, double l2,
                                double noise, const BinSettings& settings, std::int32_t* bin, std::int32_t* bin_size,
                                double* scratch);

    // Adds up a joint Hessian over the bins: `hessian` receives the bins x bins matrix (row major, all of it).
    void (*aggregate_joint)(const double* sums, std::size_t labels, const std::int32_t* bin, std::size_t bins, bool exact,
                            double* scratch, double* hessian);

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

// Doubles in an interleaved upper triangle with its right-hand side, for `n` unknowns.
constexpr std::size_t lane_scratch_size(std::size_t n) { return kLanes * (n * (n + 3) / 2); }

constexpr std::size_t screen_scratch_size(std::size_t labels, std::size_t bins_per_sign) {
    const std::size_t bins = 2 * bins_per_sign;
    const std::size_t gathered = (labels + 1) * (kScreenBlock / 16);
    const std::size_t sums = 2 * (2 * labels + labels * (labels + 1) / 2);
    const std::size_t exact = labels * (labels + 3) / 2;
    const std::size_t binned = labels + 2 * labels * bins + bins * (bins + 3) / 2;
    return 16 * (gathered + sums + (exact > binned ? exact : binned));
}

const Kernels& active_kernels();

}  // namespace labelboost
