// Histograms of long rows: what examples have to add up, once for several features that each sort it in their own way.
//
// Rows are made for some examples at a time, whatever the number of features, and both they and the histograms are cut
// into tiles (see Tiles): while a feature adds up a tile, its part of the histogram stays in the first-level cache and
// that of the rows in the second. Sums are in single precision, and are settled in double precision every now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "kernels/kernels.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace labelboost {

using FloatVector = AlignedVectorOf<float>;

class TiledRows {
public:
    explicit TiledRows(const Tiles& tiles) : tiles_(tiles) {}

    const Tiles& tiles() const { return tiles_; }
    std::size_t rows() const { return count_; }
    const float* tile(std::size_t t) const { return rows_.data() + tiles_.begin(t, count_); }

    // Rows in one piece. pack(i, thread, row): stores the numbers of row i.
    template <typename Pack>
    void fill(std::size_t count, ThreadPool& pool, Interrupt& interrupt, const Pack& pack) {
        make_room(count);
        tiles_.width = part_width();
        for_each_part(pool, interrupt, [&](std::size_t begin, std::size_t end, std::size_t thread) {
            for (std::size_t i = begin; i < end; ++i) pack(i, thread, rows_.data() + i * tiles_.size);
        });
    }
    // Rows in tiles of sixteen numbers, from the gradients of examples. pack(task): makes some of them.
    using Pack = std::function<void(const PackTask&)>;
    void fill(const Gradients& gradients, const std::vector<double>& weights, std::span<const std::int32_t> examples,
              std::size_t labels, ThreadPool& pool, Interrupt& interrupt, const Pack& pack);
    // Adds the sum of all rows to `sums`.
    void add_up(AlignedVector& sums) const;

private:
    static constexpr std::size_t kPart = 64;

    void make_room(std::size_t count);
    std::size_t part_width() const;
    template <typename Work>
    void for_each_part(ThreadPool& pool, Interrupt& interrupt, const Work& work) {
        pool.run((count_ + kPart - 1) / kPart, interrupt, [&](std::size_t part, std::size_t thread) {
            work(part * kPart, std::min(count_, part * kPart + kPart), thread);
        });
    }

    Tiles tiles_;
    std::size_t count_ = 0;
    FloatVector rows_;
    std::vector<FloatVector> rounded_;  // per thread
};

class TiledHistogram {
public:
    void clear(const Tiles& tiles, std::size_t slots) {
        tiles_ = tiles;
        slots_ = slots;
        values_.assign(tiles.floats(slots), 0.0f);
        exact_.clear();
    }
    // Row i of the tile, or row numbers[i], is added to that of slots[i].
    void add(const TiledRows& rows, std::size_t tile, const std::int32_t* slots, const std::int32_t* numbers,
             std::size_t count) {
        float* const target = values_.data() + rows.tiles().begin(tile, slots_);
        active_kernels().add_rows(target, slots, rows.tile(tile), numbers, count,
                                  rows.tiles().width_of(tile), rows.tiles().pitch(tile));
    }
    // Goes on in double precision with what was added so far; when all has been added, `finish` rounds it.
    void settle();
    void finish();

    const Tiles& tiles() const { return tiles_; }
    float* tile(std::size_t t) { return values_.data() + tiles_.begin(t, slots_); }
    // out = other + the row of a slot; and, once all has been settled, sums += that row.
    void add_row(std::size_t slot, const float* other, float* out) const {
        active_kernels().add_from_tiles(out, other, values_.data(), tiles_, slots_, slot);
    }
    void add_exact_row(std::size_t slot, double* sums) const;

private:
    Tiles tiles_;
    std::size_t slots_ = 0;
    FloatVector values_;
    AlignedVector exact_;  // the same, as far as it was settled
};

// Adds up the rows of `count` examples in several histograms. fill(first, count): makes rows of the examples from number
// `first` on, at most `chunk` of them; add(h, first, tile, thread): lets histogram number h add up a tile of them; after
// every `period` examples or a few more, settle(h) is called, unless those were the last.
template <typename Fill, typename Add, typename Settle>
void add_up_in_chunks(const TiledRows& rows, std::size_t count, std::size_t chunk, std::size_t period,
                      std::size_t histograms, ThreadPool& pool, Interrupt& interrupt, const Fill& fill, const Add& add,
                      const Settle& settle) {
    std::size_t open = 0;
    for (std::size_t first = 0; first < count; first += chunk) {
        fill(first, std::min(chunk, count - first));
        // All histograms with the first tile, then with the next one: so that these stay in the cache.
        pool.run(rows.tiles().count() * histograms, interrupt, [&](std::size_t number, std::size_t thread) {
            add(number % histograms, first, number / histograms, thread);
        });
        open += chunk;
        if (open < period || first + chunk >= count) continue;
        open = 0;
        pool.run(histograms, interrupt, [&](std::size_t h, std::size_t) { settle(h); });
    }
}

}  // namespace labelboost
