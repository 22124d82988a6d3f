// SPDX-License-Identifier: Apache-2.0
#include "quant/packed_rows.h"

#include <algorithm>
#include <vector>

#include "quant/float_weight.h"
#include "tensor/bits.h"

namespace anemone::quant {
namespace {

// Rows that are packed together: eight rows of any width end on a whole byte.
constexpr std::int64_t kRowsAtOnce = 8;

}  // namespace

Result<Tensor> pack_rows(const MatrixSource& matrix, DType dtype, const RowQuantizer& quantize,
                         QuantError* error) {
  if (error != nullptr) *error = {};
  Tensor out(dtype, projection_shape(matrix));
  const auto columns = static_cast<std::size_t>(matrix.columns());
  RowReader rows(matrix);
  std::vector<float> restored(error != nullptr ? columns : 0);
  std::vector<std::int32_t> quants(columns * static_cast<std::size_t>(kRowsAtOnce));
  std::span<std::byte> left = out.mutable_view().bytes();
  for (std::int64_t begin = 0; begin < matrix.rows(); begin += kRowsAtOnce) {
    const std::int64_t count = std::min(kRowsAtOnce, matrix.rows() - begin);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::span<const float> row = rows.row(begin + r);
      quantize(begin + r, row,
               std::span(quants).subspan(static_cast<std::size_t>(r) * columns, columns), restored);
      if (error != nullptr) error->add(row, restored);
    }
    const auto values = std::span(quants).first(static_cast<std::size_t>(count) * columns);
    const auto bytes = static_cast<std::size_t>(dtype_bytes(dtype, values.size()));
    if (is_sub_byte(dtype))
      pack_bits(values, dtype, left.first(bytes));
    else
      std::ranges::transform(values, left.begin(),
                             [](std::int32_t q) { return static_cast<std::byte>(q); });
    left = left.subspan(bytes);
  }
  matrix.release();
  return out;
}

std::int64_t fitting_divisor(std::int64_t size, std::int64_t wanted) {
  std::int64_t divisor = std::clamp<std::int64_t>(wanted, 1, size);
  while (size % divisor != 0) --divisor;
  return divisor;
}

}  // namespace anemone::quant
