// SPDX-License-Identifier: Apache-2.0
#include "quant/matrix_source.h"

#include <algorithm>

namespace anemone::quant {

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
