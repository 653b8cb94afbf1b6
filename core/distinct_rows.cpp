#include "distinct_rows.hpp"

#include <algorithm>
#include <numeric>

#include "random.hpp"

namespace labelboost {
namespace {

constexpr std::size_t kBits = 64;

// Rows as bits, the first column in the highest one, so that rows compare like their words; found by a hash of these.
class RowTable {
public:
    explicit RowTable(std::size_t columns) : columns_(columns), words_((columns + kBits - 1) / kBits), row_(words_) {}

    // The number of this row among the distinct ones so far.
    std::size_t find_or_add(const std::uint8_t* values) {
        std::uint64_t hash = 0;
        for (std::size_t w = 0; w < words_; ++w) {
            const std::size_t end = std::min(columns_, kBits * (w + 1));
            std::uint64_t word = 0;
            for (std::size_t c = kBits * w; c < end; ++c) word = word << 1 | (values[c] != 0 ? 1U : 0U);
            row_[w] = word << (kBits * (w + 1) - end);
            hash = mix(hash ^ row_[w]);
        }
        std::size_t place = hash % numbers_.size();
        for (; numbers_[place] != kNone; place = (place + 1) % numbers_.size()) {
            if (std::equal(row_.begin(), row_.end(), of(numbers_[place]))) return numbers_[place];
        }
        numbers_[place] = static_cast<std::uint32_t>(hashes_.size());
        hashes_.push_back(hash);
        rows_.insert(rows_.end(), row_.begin(), row_.end());
        if (2 * hashes_.size() > numbers_.size()) grow();
        return hashes_.size() - 1;
    }
    std::size_t size() const { return hashes_.size(); }
    bool less(std::size_t a, std::size_t b) const {
        return std::lexicographical_compare(of(a), of(a + 1), of(b), of(b + 1));
    }

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    std::vector<std::uint64_t>::const_iterator of(std::size_t number) const {
        return rows_.begin() + static_cast<std::ptrdiff_t>(number * words_);
    }
    void grow() {
        numbers_.assign(4 * numbers_.size(), kNone);
        for (std::size_t number = 0; number < hashes_.size(); ++number) {
            std::size_t place = hashes_[number] % numbers_.size();
            while (numbers_[place] != kNone) place = (place + 1) % numbers_.size();
            numbers_[place] = static_cast<std::uint32_t>(number);
        }
    }

    std::size_t columns_, words_;
    std::vector<std::uint64_t> row_;                             // the one that is looked for
    std::vector<std::uint64_t> rows_, hashes_;                   // of the distinct ones
    std::vector<std::uint32_t> numbers_ = std::vector(64, kNone);  // by place, of which there are powers of two
};

}  // namespace

DistinctRows distinct_rows(std::span<const std::uint8_t> matrix, std::size_t columns, std::span<const double> weights,
                           Interrupt& interrupt) {
    constexpr std::size_t kBetweenChecks = 1U << 12;
    RowTable table(columns);
    std::vector<std::int64_t> first;
    std::vector<double> total;
    std::vector<std::int32_t> number(weights.size());
    for (std::size_t n = 0; n < weights.size(); ++n) {
        if (n % kBetweenChecks == 0) interrupt.check();
        const std::size_t found = table.find_or_add(matrix.data() + n * columns);
        if (found == first.size()) {
            first.push_back(static_cast<std::int64_t>(n));
            total.push_back(0.0);
        }
        total[found] += weights[n];
        number[n] = static_cast<std::int32_t>(found);
    }
    std::vector<std::size_t> order(table.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return total[a] != total[b] ? total[a] > total[b] : table.less(b, a);
    });
    DistinctRows distinct{{}, {}, std::move(number)};
    std::vector<std::int32_t> place(order.size());
    for (const std::size_t found : order) {
        place[found] = static_cast<std::int32_t>(distinct.first.size());
        distinct.first.push_back(first[found]);
        distinct.weights.push_back(total[found]);
    }
    for (std::int32_t& found : distinct.number) found = place[static_cast<std::size_t>(found)];
    return distinct;
}

}  // namespace labelboost
