// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/transposed.h"

#include <algorithm>
#include <vector>

namespace anemone::checkpoint {

void read_transposed(const WeightRef& weight, const Strided& place, std::int64_t rows,
                     std::int64_t columns, std::span<float> out) {
  if (rows == 0) return;
  // A few columns at a time, so that a row is written by runs.
  constexpr std::int64_t kColumnsAtOnce = 32;
  const auto height = static_cast<std::size_t>((rows - 1) * place.row_step + 1);
  std::vector<float> tile(kColumnsAtOnce * height);  // by columns
  for (std::int64_t c = 0; c < columns; c += kColumnsAtOnce) {
    const auto width = static_cast<std::size_t>(std::min(kColumnsAtOnce, columns - c));
    for (std::size_t i = 0; i < width; ++i)
      read_floats(weight, place.first + (c + static_cast<std::int64_t>(i)) * place.column_step,
                  std::span(tile).subspan(i * height, height));
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = out.subspan(static_cast<std::size_t>(r * columns + c), width);
      const auto at = static_cast<std::size_t>(r * place.row_step);
      for (std::size_t i = 0; i < width; ++i) row[i] = tile[i * height + at];
    }
  }
}

}  // namespace anemone::checkpoint
