// SPDX-License-Identifier: Apache-2.0
// space_to_batch and batch_to_space are one mapping between images [n, c, h, w] and cells
// [bh * bw * n, c, h', w']: position p of an axis of an image, moved by `before`, is position q of
// cell i where p + before = q * block + i.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/common/strided_copy.h"

namespace anemone::kernels::reference {

struct CellMapping {
  Shape image, cells;
  std::int64_t block[2];
  std::int64_t before[2];
};

// Calls copy(shape, image offset, image strides, cells offset, cells strides) for the part of every
// cell that lies in the image.
template <typename Copy>
void for_each_cell(const CellMapping& m, Copy&& copy) {
  const Strides image = strides_of(m.image);
  const Strides cells = strides_of(m.cells);
  for (std::int64_t i = 0; i < m.block[0]; ++i)
    for (std::int64_t j = 0; j < m.block[1]; ++j) {
      const std::int64_t index[2] = {i, j};
      Shape shape = {m.image[0], m.image[1], 0, 0};
      std::int64_t image_offset = 0;
      std::int64_t cells_offset = (i * m.block[1] + j) * m.image[0] * cells[0];
      bool is_empty = false;
      for (std::size_t a = 0; a < 2; ++a) {
        // The first and the number of q with 0 <= q * block + i - before < image size.
        const std::int64_t shift = index[a] - m.before[a];
        const std::int64_t first = shift >= 0 ? 0 : (-shift + m.block[a] - 1) / m.block[a];
        const std::int64_t room = m.image[2 + a] - 1 - shift;
        const std::int64_t end = room < 0 ? 0 : std::min(m.cells[2 + a], room / m.block[a] + 1);
        shape[2 + a] = end - first;
        is_empty = is_empty || end <= first;
        image_offset += (first * m.block[a] + shift) * image[2 + a];
        cells_offset += first * cells[2 + a];
      }
      if (is_empty) continue;
      copy(shape, image_offset,
           Strides{image[0], image[1], image[2] * m.block[0], image[3] * m.block[1]}, cells_offset,
           cells);
    }
}

}  // namespace anemone::kernels::reference
