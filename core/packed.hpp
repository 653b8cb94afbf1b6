// Screening the divisions of a node of a tree, or the candidates of a rule by bins of a feature: approximate qualities of
// both parts, from histograms in single precision.
//
// A node's examples are turned into rows (kernels/packed.hpp) once, whatever the number of features; a feature then adds up
// the rows by value, and walks along its values from both ends. Rows are made for so many examples at a time as fit into
// a buffer of fixed size, so there is nothing of size examples x labels x labels. For rules, where few features are left
// by then, rows are never stored, but added to all of them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "columns.hpp"
#include "settings.hpp"
#include "statistics.hpp"
#include "threads.hpp"
#include "tiles.hpp"

namespace labelboost {

class PackedFeature;

class PackedRows : public TiledRows {
public:
    // Of more examples the rounding errors of sums in single precision would be too large.
    static constexpr std::size_t kMostExamples = 1U << 16;

    PackedRows(const Form& form, const Settings& settings);

    static bool possible(const Form& form, const Settings& settings);
    // Whether it is worth a look for a feature with so many values.
    bool suits(const Column& column, std::size_t examples) const;
    // How many rows there can be at a time.
    std::size_t capacity() const { return capacity_; }
    // Whether rows are added up without being stored.
    bool direct() const { return sums_; }
    // After so many examples histograms whose features have at least so many values are to be settled.
    std::size_t period(std::size_t fewest_values) const;
    // Of the tiles of histograms.
    std::size_t tile_width() const { return sums_ ? std::min(tiles().size, kDirectWidth) : tiles().size; }

    // Whether to screen with rows pays for a node with so many examples; listed, splits: of all features together.
    bool pays(std::size_t examples, std::size_t listed, std::size_t splits) const;

    void fill(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
              ThreadPool& pool, Interrupt& interrupt);
    // If direct: adds up the rows of all examples in the histograms of features.
    void add_up_directly(const Gradients& gradients, const std::vector<double>& weights,
                         std::span<const std::int32_t> examples, std::span<PackedFeature* const> features,
                         ThreadPool& pool, Interrupt& interrupt);

private:
    static constexpr std::size_t kDirectWidth = 64;

    static Tiles tiles_for(const Form& form, const Settings& settings);
    void store_sums(const PackTask& task, float* rows) const;
    void find_factors();
    void pack(const Gradients& gradients, std::int32_t example, double weight, AlignedVector& scratch, float* out) const;

    Form form_;
    bool sums_ = false;      // rows have the joint form for rules
    bool diagonal_ = false;  // the diagonal one
    std::size_t capacity_ = 0;
    std::vector<std::int32_t> first_factors_, second_factors_;  // of rows for rules
    std::vector<AlignedVector> scratch_;                        // per thread
    std::vector<PackBatch> batches_;                            // per thread
};

// One per thread: scores rows, sixteen at a time.
class PackedScorer {
public:
    PackedScorer(const Form& form, const Settings& settings, std::size_t size);

    // task: for rules, what does not depend on examples.
    void begin(double noise, const ScreenTask& task) {
        noise_ = static_cast<float>(noise);
        task_ = task;
        count_ = 0;
    }
    // Where to put the next row. What was put there sixteen rows ago has been scored.
    float* next() { return rows_.data() + count_ * size_; }
    // The row is complete: its quality will be stored, by the next flush() at the latest.
    void add(float* quality);
    void flush();

private:
    static constexpr std::size_t kTogether = 16;

    Form form_;
    bool single_;
    bool sums_, tight_;  // rows have the joint, or the diagonal form for rules
    ScreenTask task_{};
    float l2_, noise_ = 0.0f;
    std::size_t size_, count_ = 0;
    FloatVector rows_, system_;
    float* targets_[kTogether] = {};
};

// The divisions of one feature, and what is known of them. Kept between nodes for its memory.
class PackedFeature {
public:
    // Finds out which values there are. sampled, multiplicity, position: by example, whether it is in the node, what it
    // counts for (if empty, 1), and its number there.
    void start(const Column& column, const std::vector<std::int32_t>& sample, const std::vector<std::uint8_t>& sampled,
               const std::vector<std::uint32_t>& multiplicity, const std::vector<std::int32_t>& position);
    bool any_missing() const { return missing_count_ > 0; }
    bool any_implicit() const { return implicit_slot_ >= 0; }
    std::size_t splits() const { return counts_.empty() ? 0 : counts_.size() - 1; }
    // Whether single precision will do: the row of the implicit value is a difference, which has to be a large one.
    bool reliable() const {
        constexpr std::uint32_t kSmallestPart = 16;
        return implicit_slot_ < 0 || kSmallestPart * counts_[static_cast<std::size_t>(implicit_slot_)] >= total_count();
    }
    // How many examples are not counted only.
    std::size_t listed() const { return slot_.size(); }
    // What the histogram will take, in rows.
    std::size_t histogram_rows() const { return counts_.size() + 1; }
    void clear(std::size_t size, std::size_t width) { histogram_.clear(size, histogram_rows(), width); }
    TiledHistogram& histogram() { return histogram_; }
    // By example of the node, if all are listed.
    const std::int32_t* slots() const { return slot_.data(); }
    void settle() { histogram_.settle(); }
    // Adds a tile of the rows of the node's examples from number `first` on.
    void add(const PackedRows& rows, std::size_t first, std::size_t tile);
    // Scores both parts of every division, with missing values on the left, on the right or nowhere. total: of all rows.
    void walk(const FloatVector& total, bool missing_left, bool missing_right, PackedScorer& scorer);
    // The same for rules, with sums in double precision.
    void walk_exactly(PackedScorer& scorer);

    std::size_t before(std::size_t split, bool missing_left) const {
        return counts_before_[split] + (missing_left ? missing_count_ : 0);
    }
    double left_quality(std::size_t split) const { return static_cast<double>(left_[split]); }
    double right_quality(std::size_t split) const { return static_cast<double>(right_[split]); }
    std::uint32_t present() const { return counts_before_.empty() ? 0 : counts_before_.back(); }

private:
    std::uint32_t total_count() const { return counts_before_.back() + missing_count_; }
    void find_slots(const Column& column, std::size_t ranks);
    void fill_implicit(const FloatVector& total);

    std::vector<std::int32_t> slot_;      // by example of the node (dense), or by listed example
    std::vector<std::int32_t> listed_;    // numbers of the listed examples, unless all are
    bool all_listed_ = true;
    std::ptrdiff_t implicit_slot_ = -1;
    std::vector<std::uint32_t> by_rank_;  // numbers of examples, then slots
    std::vector<std::uint32_t> counts_, counts_before_;
    std::uint32_t missing_count_ = 0;
    TiledHistogram histogram_;  // rows of the slots, then of what is missing
    std::vector<float> left_, right_;
};

}  // namespace labelboost
