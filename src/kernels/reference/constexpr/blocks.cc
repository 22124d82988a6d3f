// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/constexpr/blocks.h"

namespace anemone::kernels::reference {

BlockMap::BlockMap(const Shape& shape, const Shape& blocks)
    : shape_(shape), strides_(strides_of(blocks)) {
  for (std::size_t d = 0; d < shape.size(); ++d) sizes_.push_back(shape[d] / blocks[d]);
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) rows_ *= shape[d];
}

std::int64_t BlockMap::row_block(std::int64_t row) const {
  std::int64_t block = 0;
  for (std::size_t d = shape_.size() - 1; d-- > 0;) {
    block += row % shape_[d] / sizes_[d] * strides_[d];
    row /= shape_[d];
  }
  return block;
}

}  // namespace anemone::kernels::reference
