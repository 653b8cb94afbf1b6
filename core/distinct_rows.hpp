// The label sets that there are: distinct rows of a 0/1 matrix, in one look at each row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "threads.hpp"

namespace labelboost {

// The heaviest ones first, of equally heavy ones those first that have a 1 where the other has its first 0.
struct DistinctRows {
    std::vector<std::int64_t> first;    // of each the first row that is equal to it
    std::vector<double> weights;        // of each the sum of the rows' weights, added up in their order
    std::vector<std::int32_t> number;   // of each row its number among the distinct ones
};

DistinctRows distinct_rows(std::span<const std::uint8_t> matrix, std::size_t columns, std::span<const double> weights,
                           Interrupt& interrupt);

}  // namespace labelboost
