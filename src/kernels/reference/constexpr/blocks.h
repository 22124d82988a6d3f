// SPDX-License-Identifier: Apache-2.0
// Which block an element lies in, where every dimension of a tensor is cut into equal blocks: the
// scales of block-wise quantisation, the tables of grouped palettes.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/shape.h"

namespace anemone::kernels::reference {

class BlockMap {
 public:
  // `blocks` has the rank of `shape`, and each of its sizes divides the one of `shape`. Rank >= 1.
  BlockMap(const Shape& shape, const Shape& blocks);

  // Rows are runs along the last dimension.
  std::int64_t rows() const { return rows_; }
  std::int64_t row_length() const { return shape_.back(); }
  // Block of the first element of a row. Element i of the row lies in that block + i / run().
  std::int64_t row_block(std::int64_t row) const;
  std::int64_t run() const { return sizes_.back(); }
  // Block of a row-major element index.
  std::int64_t block_of(std::int64_t element) const {
    return row_block(element / row_length()) + element % row_length() / run();
  }

 private:
  Shape shape_;
  std::vector<std::int64_t> sizes_;    // elements of a block along each dimension
  std::vector<std::int64_t> strides_;  // of the blocks
  std::int64_t rows_ = 1;
};

}  // namespace anemone::kernels::reference
