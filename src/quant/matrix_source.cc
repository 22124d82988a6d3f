// SPDX-License-Identifier: Apache-2.0
#include "quant/matrix_source.h"

#include <algorithm>

namespace anemone::quant {

void MatrixSource::read_rows(std::int64_t begin, std::int64_t count, std::span<float> out) const {
  const auto width = static_cast<std::size_t>(columns());
  for (std::int64_t r = 0; r < count; ++r)
    read_row(begin + r, out.subspan(static_cast<std::size_t>(r) * width, width));
}

std::span<const float> RowReader::row(std::int64_t index) {
  const auto width = static_cast<std::size_t>(matrix_.columns());
  if (index < begin_ || index >= begin_ + count_) {
    begin_ = index;
    count_ = std::min(matrix_.rows_at_once(), matrix_.rows() - index);
    kept_.resize(static_cast<std::size_t>(count_) * width);
    matrix_.read_rows(begin_, count_, kept_);
  }
  return std::span(kept_).subspan(static_cast<std::size_t>(index - begin_) * width, width);
}

}  // namespace anemone::quant
