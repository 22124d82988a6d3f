// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/arrays.h"

#include <cstddef>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace anemone::exec::coreml {
namespace {

std::int64_t element_bytes(DType dtype) {
  return dtype_bits(dtype) / 8;
}

}  // namespace

std::vector<std::int64_t> padded_strides(DType dtype, const Shape& shape, std::int64_t row_bytes) {
  std::vector<std::int64_t> strides = strides_of(shape);
  const std::size_t rank = shape.size();
  if (row_bytes == 0 || rank < 2) return strides;
  const std::int64_t unit = std::max<std::int64_t>(row_bytes / element_bytes(dtype), 1);
  std::int64_t stride = (std::max<std::int64_t>(shape[rank - 1], 1) + unit - 1) / unit * unit;
  for (std::size_t i = rank - 1; i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

std::uint64_t extent_bytes(DType dtype, const Shape& shape,
                           const std::vector<std::int64_t>& strides) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    std::int64_t step = 0;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return static_cast<std::uint64_t>(kMost);
  }
  if (last >= kMost / element_bytes(dtype) - 1) return static_cast<std::uint64_t>(kMost);
  return static_cast<std::uint64_t>((last + 1) * element_bytes(dtype));
}

std::uint64_t padded_bytes(DType dtype, const Shape& shape, std::int64_t row_bytes) {
  const std::uint64_t dense = extent_bytes(dtype, shape, strides_of(shape));
  if (row_bytes == 0 || shape.size() < 2 || dense == 0) return dense;
  const std::vector<std::int64_t> strides = padded_strides(dtype, shape, row_bytes);
  return static_cast<std::uint64_t>(shape[0] * strides[0] * element_bytes(dtype));
}

bool is_dense(const Array& array) {
  std::int64_t stride = 1;
  for (std::size_t i = array.shape.size(); i-- > 0;) {
    if (array.shape[i] != 1 && array.strides[i] != stride) return false;
    stride *= array.shape[i];
  }
  return true;
}

bool has_row_bytes(const Array& array, std::int64_t row_bytes) {
  const std::size_t rank = array.shape.size();
  if (row_bytes == 0 || rank < 2) return true;
  return array.strides[rank - 1] == 1 &&
         array.strides[rank - 2] * element_bytes(array.dtype) % row_bytes == 0;
}

Array array_of(const MutableTensorView& view) {
  return {view.dtype, view.shape, strides_of(view.shape), view.data, view.size_bytes()};
}

Array array_of(const TensorView& view) {
  return array_of(MutableTensorView{view.dtype, view.shape, const_cast<std::byte*>(view.data)});
}

void copy_elements(const Array& from, const Array& to) {
  ANEMONE_CHECK(from.dtype == to.dtype && from.shape == to.shape && !is_sub_byte(from.dtype));
  if (element_count(from.shape) == 0) return;
  const std::size_t size = static_cast<std::size_t>(element_bytes(from.dtype));
  if (is_dense(from) && is_dense(to)) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(element_count(from.shape)) * size);
    return;
  }
  // Rows at once where neither has gaps in them, else single elements.
  const std::size_t rank = from.shape.size();
  const bool has_rows = rank > 0 && from.strides[rank - 1] == 1 && to.strides[rank - 1] == 1;
  const std::size_t axes = has_rows ? rank - 1 : rank;
  const std::size_t run = has_rows ? static_cast<std::size_t>(from.shape[rank - 1]) * size : size;
  std::vector<std::int64_t> index(axes, 0);
  while (true) {
    std::int64_t read = 0;
    std::int64_t write = 0;
    for (std::size_t i = 0; i < axes; ++i) {
      read += index[i] * from.strides[i];
      write += index[i] * to.strides[i];
    }
    std::memcpy(to.data + static_cast<std::size_t>(write) * size,
                from.data + static_cast<std::size_t>(read) * size, run);
    std::size_t axis = axes;
    while (axis > 0 && ++index[axis - 1] == from.shape[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace anemone::exec::coreml
