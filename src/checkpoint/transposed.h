// SPDX-License-Identifier: Apache-2.0
// Matrices that lie in a tensor by columns.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/weight_source.h"

namespace anemone::checkpoint {

// Places a matrix in memory: element (row, column) lies at first + row * row_step + column *
// column_step.
struct Strided {
  std::int64_t first = 0;
  std::int64_t row_step = 1;
  std::int64_t column_step = 1;
};

// How many rows of a transposed matrix are best read together: a cache line has as many rows of
// each column in fp16.
inline constexpr std::int64_t kTransposedRowsAtOnce = 32;

// out[row * columns + column]; `out` has rows * columns elements.
void read_transposed(const WeightRef& weight, const Strided& place, std::int64_t rows,
                     std::int64_t columns, std::span<float> out);

}  // namespace anemone::checkpoint
