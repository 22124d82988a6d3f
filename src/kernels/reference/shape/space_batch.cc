// SPDX-License-Identifier: Apache-2.0
// space_to_batch and batch_to_space are one mapping between images [n, c, h, w] and cells
// [bh * bw * n, c, h', w']: position p of an axis of an image, moved by `before`, is position q of
// cell i where p + before = q * block + i.
#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/common/strided_copy.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {
namespace {

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

Status batch_to_space_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const auto block = *call.ints("block_shape");
  const auto border = *call.ints("crops");
  const std::int64_t bytes = dtype_bits(x.dtype) / 8;
  for_each_cell({y.shape, x.shape, {block[0], block[1]}, {border[0], border[2]}},
                [&](const Shape& shape, std::int64_t image_offset, const Strides& image,
                    std::int64_t cells_offset, const Strides& cells) {
                  strided_copy(shape, x.dtype, {x.data + cells_offset * bytes, cells},
                               {y.data + image_offset * bytes, image}, call.threads());
                });
  return ok_status();
}

Status space_to_batch_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (y.size() == 0) return ok_status();
  const auto block = *call.ints("block_shape");
  const auto border = *call.ints("paddings");
  const std::int64_t bytes = dtype_bits(x.dtype) / 8;
  std::fill_n(y.data, y.size() * bytes, std::byte{});
  for_each_cell({x.shape, y.shape, {block[0], block[1]}, {border[0], border[2]}},
                [&](const Shape& shape, std::int64_t image_offset, const Strides& image,
                    std::int64_t cells_offset, const Strides& cells) {
                  strided_copy(shape, x.dtype, {x.data + image_offset * bytes, image},
                               {y.data + cells_offset * bytes, cells}, call.threads());
                });
  return ok_status();
}

}  // namespace

std::vector<KernelEntry> space_batch_kernels() {
  return {{"batch_to_space", batch_to_space_kernel}, {"space_to_batch", space_to_batch_kernel}};
}

}  // namespace anemone::kernels::reference
