// Screening the divisions of a node of a tree, or the candidates of a rule by bins of a feature: approximate qualities of
// both parts, from histograms in single precision.
//
// A node's examples are turned into rows (kernels/packed.hpp) once, whatever the number of features; a feature then adds up
// the rows by value, and walks along its values from both ends. Rows are made for so many examples at a time as fit into
// a buffer of fixed size, so there is nothing of size examples x labels x labels. For rules in joint form, where few
// features are left by then, rows are not needed: some examples at a time are sorted by value and added up in registers.
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
    // Whether histograms are filled without rows, from sorted examples.
    bool sorted() const { return sorted_; }
    // Of what is added up.
    std::size_t histogram_size() const { return sorted_ ? SortedSums(form_.labels).size() : tiles().size; }
    // If sorted: where the numbers of a row that is to be scored stand in such sums.
    std::span<const std::int32_t> scored_places() const { return scored_places_; }
    // After so many examples histograms whose features have at least so many values are to be settled.
    std::size_t period(std::size_t fewest_values) const;
    // Whether to screen with rows pays for a node with so many examples; listed, splits: of all features together.
    bool pays(std::size_t examples, std::size_t listed, std::size_t splits) const;

    void fill(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
              ThreadPool& pool, Interrupt& interrupt);

private:
    static Tiles tiles_for(const Form& form, const Settings& settings);
    void find_places();
    void pack(const Gradients& gradients, std::int32_t example, double weight, AlignedVector& scratch, float* out) const;

    Form form_;
    bool sorted_ = false;    // joint form for rules
    bool diagonal_ = false;  // the diagonal one
    std::size_t capacity_ = 0;
    std::vector<std::int32_t> first_factors_, second_factors_, scored_places_;  // of rows for rules
    std::vector<AlignedVector> scratch_;  // per thread
    std::vector<PackBatch> batches_;      // per thread
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
    FloatVector rows_;
    AlignedRoomOf<float> system_;
    float* targets_[kTogether] = {};
};

// Memory of a thread for examples that are sorted.
struct SortScratch {
    std::vector<std::uint32_t> next;  // by value: where its next example goes
    FloatVector gradients, weights;
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
    void clear(const PackedRows& rows) {
        histogram_.clear(rows.histogram_size(), histogram_rows(), rows.histogram_size());
        if (rows.sorted()) histogram_.make_room_to_settle();
    }
    void settle() { histogram_.settle(); }
    // Where to cut the values in parts with about as many examples each; parts: how many, number: of a boundary between them.
    std::size_t boundary(std::size_t number, std::size_t parts) const;
    // Adds up the examples of the node with values from `begin` to `end`; all must be listed.
    void add_sorted(const PackTask& examples, std::size_t begin, std::size_t end, SortScratch& scratch,
                    Interrupt& interrupt);
    // Adds a tile of the rows of the node's examples from number `first` on.
    void add(const PackedRows& rows, std::size_t first, std::size_t tile);
    // Scores both parts of every division, with missing values on the left, on the right or nowhere. total: of all rows.
    void walk(const FloatVector& total, bool missing_left, bool missing_right, PackedScorer& scorer);
    // The same for rules, with sums in double precision; places: of the numbers to be scored, or empty if those are all.
    void walk_exactly(PackedScorer& scorer, std::span<const std::int32_t> places);

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
