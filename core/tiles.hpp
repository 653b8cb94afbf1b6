// Histograms of long rows: what examples have to add up, once for several features that each sort it in their own way.
//
// Rows are made for some examples at a time, whatever the number of features, and both they and the histograms are cut
// into tiles (see Tiles): while a feature adds up a tile, its part of the histogram stays in the first-level cache and
// that of the rows in the second. Sums are in single precision, and are settled in double precision every now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "kernels/kernels.hpp"
#include "threads.hpp"

namespace labelboost {

using FloatVector = AlignedVectorOf<float>;

class TiledRows {
public:
    explicit TiledRows(const Tiles& tiles) : tiles_(tiles) {}

    const Tiles& tiles() const { return tiles_; }
    std::size_t rows() const { return count_; }
    const float* tile(std::size_t t) const { return rows_.data() + tiles_.begin(t, count_); }

    // pack(i, thread, row): stores the numbers of row i; where rows are cut, up to 16 numbers behind its end may be changed.
    template <typename Pack>
    void fill(std::size_t count, ThreadPool& pool, Interrupt& interrupt, const Pack& pack) {
        constexpr std::size_t kPart = 64;
        count_ = count;
        if (tiles_.in_one_piece) tiles_.width = part_width();
        if (rows_.size() < tiles_.floats(count)) rows_.resize(tiles_.floats(count));
        pool.run((count + kPart - 1) / kPart, interrupt, [&](std::size_t part, std::size_t thread) {
            const std::size_t begin = part * kPart, end = std::min(count, begin + kPart);
            if (tiles_.in_one_piece) {
                for (std::size_t i = begin; i < end; ++i) pack(i, thread, rows_.data() + i * tiles_.size);
                return;
            }
            // All rows before the first one is read again: what was just stored in other pieces would have to be waited for.
            FloatVector rows(kPart * tiles_.size + 16, 0.0f);
            for (std::size_t i = begin; i < end; ++i) pack(i, thread, rows.data() + (i - begin) * tiles_.size);
            active_kernels().put_in_tiles(rows_.data(), tiles_, count, begin, end - begin, rows.data());
        });
    }
    // Adds the sum of all rows to `sums`.
    void add_up(AlignedVector& sums) const;

private:
    std::size_t part_width() const;

    Tiles tiles_;
    std::size_t count_ = 0;
    FloatVector rows_;
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
