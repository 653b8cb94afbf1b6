// Histograms of long rows: what examples have to add up, once for several features that each sort it in their own way.
//
// Rows are made for some examples at a time, whatever the number of features, so few that they stay in the second-level
// cache; very long ones are added up in tiles (see Tiles), so that the histogram does, too. Sums are in single precision,
// and are settled in double precision every now and then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned.hpp"
#include "kernels/kernels.hpp"
#include "statistics.hpp"
#include "threads.hpp"

namespace labelboost {

using FloatVector = AlignedVectorOf<float>;

// Some examples as the kernels want them.
class PackBatch {
public:
    // Those from number `begin` on; examples: all that will be asked for, one after the other. Valid until the next call.
    PackTask gather(const Gradients& gradients, const std::vector<double>& weights,
                    std::span<const std::int32_t> examples, std::size_t begin, std::size_t end, std::size_t labels);

private:
    FloatVector rounded_;  // where gradients are in double precision only
};

class TiledRows {
public:
    explicit TiledRows(const Tiles& tiles) : tiles_(tiles) {}

    const Tiles& tiles() const { return tiles_; }
    std::size_t rows() const { return count_; }
    const float* tile(std::size_t t) const { return rows_.data() + t * tiles_.width; }

    // Stores rows. pack(begin, end, thread, rows): makes those of some examples.
    template <typename Pack>
    void fill(std::size_t count, ThreadPool& pool, Interrupt& interrupt, const Pack& pack) {
        make_room(count);
        pool.run((count + kPart - 1) / kPart, interrupt, [&](std::size_t part, std::size_t thread) {
            const std::size_t begin = part * kPart;
            pack(begin, std::min(count, begin + kPart), thread, rows_.data() + begin * tiles_.size);
        });
    }
    // Adds the sum of all rows to `sums`.
    void add_up(AlignedVector& sums) const;

protected:
    static constexpr std::size_t kPart = 64;  // rows that are made at a time

private:
    void make_room(std::size_t count);
    std::size_t tile_width() const;

    Tiles tiles_;
    std::size_t count_ = 0;
    FloatVector rows_;
};

class TiledHistogram {
public:
    // width: if less than all of a row, its tiles lie apart, first all of the first tile and so on. (As parts of rows they
    // would be spread over more memory than the processor finds its way through at once.)
    void clear(std::size_t size, std::size_t slots, std::size_t width) {
        size_ = size;
        width_ = width;
        pitch_ = width < size ? width : histogram_pitch(size);
        tile_size_ = pitch_ * slots;
        values_.assign((size + width - 1) / width * tile_size_, 0.0f);
        exact_.clear();
    }
    // Row i of a tile of the rows, or row numbers[i], is added to that of slots[i]. In one piece only.
    void add(const TiledRows& rows, std::size_t tile, const std::int32_t* slots, const std::int32_t* numbers,
             std::size_t count) {
        const Tiles& tiles = rows.tiles();
        active_kernels().add_rows(values_.data() + tile * tiles.width, slots, rows.tile(tile), numbers, count,
                                  tiles.width_of(tile), size_, pitch_);
    }
    // Goes on in double precision with what was added so far; when all has been added, `finish` rounds it.
    void settle();
    // The same for some rows, in one piece each; threads may settle different ones, once there is room.
    void make_room_to_settle() { exact_.resize(values_.size(), 0.0); }
    void settle_rows(std::size_t begin, std::size_t end);
    void finish();

    std::size_t size() const { return size_; }
    std::size_t pitch() const { return pitch_; }
    float* tile(std::size_t t) { return values_.data() + t * tile_size_; }
    // out = other + the row of a slot.
    void add_row(std::size_t slot, const float* other, float* out) const {
        const float* row = values_.data() + slot * pitch_;
        for (std::size_t c = 0; c < size_; c += width_, row += tile_size_) {
            active_kernels().add_floats(out + c, other + c, row, std::min(width_, size_ - c));
        }
    }
    // sums += the row of a slot, once all has been settled.
    void add_exact_row(std::size_t slot, double* sums) const;
    // In one piece.
    float* row(std::size_t slot) { return values_.data() + slot * pitch_; }
    // One number of a row, and what was settled of it.
    float number(std::size_t slot, std::size_t place) const { return values_[index(slot, place)]; }
    double exact_number(std::size_t slot, std::size_t place) const { return exact_[index(slot, place)]; }

private:
    void settle_numbers(std::size_t begin, std::size_t end);
    std::size_t index(std::size_t slot, std::size_t place) const {
        return place / width_ * tile_size_ + slot * pitch_ + place % width_;
    }

    std::size_t size_ = 0, width_ = 0, pitch_ = 0, tile_size_ = 0;
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
