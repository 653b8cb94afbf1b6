// How the sums over a region of examples are laid out in memory.
//
// Every vector over the labels is padded to a multiple of eight doubles (one cache line), so that no
// kernel needs a remainder loop; the padding holds zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelboost {

constexpr std::size_t kLanes = 8;

// The relative size of rounding errors in sums that were obtained by subtraction. A gradient, pivot or
// gain below `kNoise * (sum of weights)` is indistinguishable from zero.
constexpr double kNoise = 1e-12;
// A pivot that lost this much of its diagonal element belongs to a (numerically) dependent unknown.
constexpr double kSingular = 1e-10;
// Qualities that differ by less than this, relatively, are equal: the first candidate wins.
constexpr double kTie = 1e-9;

constexpr std::size_t padded_size(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }
// The same in single precision, where a cache line holds sixteen.
constexpr std::size_t padded_floats(std::size_t n) { return (n + 15) / 16 * 16; }

// Sums of the *diagonal* form: gradients, then the diagonal of the Hessian.
struct DiagonalLayout {
    std::size_t labels;
    std::size_t padded;

    explicit constexpr DiagonalLayout(std::size_t k) : labels(k), padded(padded_size(k)) {}
    constexpr std::size_t gradient() const { return 0; }
    constexpr std::size_t hessian() const { return padded; }
    constexpr std::size_t size() const { return 2 * padded; }
};

// Sums of the *flat* form: gradients, then the sum of weights, which stands for every second derivative.
struct FlatLayout {
    std::size_t labels;
    std::size_t padded;

    explicit constexpr FlatLayout(std::size_t k) : labels(k), padded(padded_size(k)) {}
    constexpr std::size_t gradient() const { return 0; }
    constexpr std::size_t weight() const { return padded; }
    constexpr std::size_t size() const { return padded + kLanes; }
};

// Sums of the *joint* form. The Hessian of a region is diag(additive) - Gram: "additive" is the sum of one
// vector per example, "Gram" the sum of outer products of one vector per example. Row i of the Gram matrix
// is stored from the start of its own block of eight columns, so rows are aligned and only the diagonal
// blocks hold both triangles.
struct JointLayout {
    std::size_t labels;
    std::size_t padded;

    explicit constexpr JointLayout(std::size_t k) : labels(k), padded(padded_size(k)) {}
    constexpr std::size_t gradient() const { return 0; }
    constexpr std::size_t additive() const { return padded; }
    constexpr std::size_t block_width(std::size_t block) const { return padded - kLanes * block; }
    // Start of row i; its first element belongs to column kLanes * (i / kLanes).
    constexpr std::size_t row(std::size_t i) const {
        const std::size_t block = i / kLanes;
        const std::size_t rows_before = kLanes * block * (padded + block_width(block) + kLanes) / 2;
        return 2 * padded + rows_before + (i % kLanes) * block_width(block);
    }
    constexpr std::size_t diagonal(std::size_t i) const { return row(i) + i % kLanes; }
    constexpr std::size_t size() const {
        const std::size_t blocks = padded / kLanes;
        return 2 * padded + kLanes * kLanes * (blocks * (blocks + 1)) / 2;
    }
    // Behind all that, where candidates are bounded: the additive vectors, each times the slack of its example.
    constexpr std::size_t slack() const { return size(); }
};

// Some of the labels, kLanes at a time. The last two blocks are not to be parted.
struct LabelBlocks {
    std::size_t begin, end;
};
constexpr LabelBlocks all_blocks(std::size_t labels) { return {0, padded_size(labels) / kLanes}; }

// The profile of a region in joint form: what bounds on its gain are computed from (see kernels/profiles.hpp).
struct ProfileLayout {
    std::size_t labels;
    std::size_t padded;

    explicit constexpr ProfileLayout(std::size_t k) : labels(k), padded(padded_size(k)) {}
    constexpr std::size_t gradient() const { return 0; }
    constexpr std::size_t additive() const { return padded; }
    constexpr std::size_t slack() const { return 2 * padded; }
    // The Hessian times a given head; without a head, the diagonal of the Gram matrix.
    constexpr std::size_t product() const { return 3 * padded; }
    constexpr std::size_t size() const { return 4 * padded; }
};

// The residual of a region at a given head, and what bounds on its gain are computed from besides (see
// kernels/residuals.hpp), all without L2 terms.
struct ResidualLayout {
    std::size_t labels;
    std::size_t padded;

    explicit constexpr ResidualLayout(std::size_t k) : labels(k), padded(padded_size(k)) {}
    constexpr std::size_t residual() const { return 0; }
    constexpr std::size_t slack() const { return padded; }
    constexpr std::size_t along() const { return 2 * padded; }  // the gradient times the head
    constexpr std::size_t mass() const { return 2 * padded + 1; }  // of |g|, over all labels
    constexpr std::size_t size() const { return 2 * padded + kLanes; }
};

// The joint form in single precision, as it can be added up in registers: gradients, their sizes, then the Gram matrix in
// columns of sixteen, each from the row of its first one on, in tiles of eight rows.
struct SortedSums {
    static constexpr std::size_t kColumns = 16, kRows = 8;
    std::size_t labels;
    std::size_t padded;

    explicit constexpr SortedSums(std::size_t k) : labels(k), padded(padded_floats(k)) {}
    constexpr std::size_t gradient() const { return 0; }
    constexpr std::size_t additive() const { return padded; }
    // Row `row` of the columns from number `column` on, a multiple of sixteen.
    constexpr std::size_t row(std::size_t column, std::size_t row) const {
        const std::size_t before = column / kColumns;
        const std::size_t rows_before = before * padded_size(labels) - kColumns * (before * (before - 1) / 2);
        return 2 * padded + kColumns * (rows_before + row - column);
    }
    // i <= j
    constexpr std::size_t product(std::size_t i, std::size_t j) const {
        return row(i / kColumns * kColumns, j) + i % kColumns;
    }
    constexpr std::size_t size() const {
        return row((labels - 1) / kColumns * kColumns, padded_size(labels));
    }
};

// How labels are grouped: a ratio of the labels of a sign, or (ratio == 0) a fixed number per sign.
struct BinSettings {
    double ratio = 0.0;
    std::int32_t per_sign = 1;
    bool exact = false;  // B^T H B instead of the paper's equations 14 to 16
};

// The number of bins for the labels of one sign. Always inlined, as the kernels of all instruction sets use it:
// no copy compiled for one of them may be linked into another.
[[gnu::always_inline]] inline std::int32_t bins_for_sign(std::int32_t labels, const BinSettings& settings) {
    double wanted = settings.ratio > 0.0 ? __builtin_ceil(settings.ratio * labels - 1e-9) : settings.per_sign;
    if (wanted < 1.0) wanted = 1.0;
    return wanted < labels ? static_cast<std::int32_t>(wanted) : labels;
}

}  // namespace labelboost
