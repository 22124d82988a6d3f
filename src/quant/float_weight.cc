// SPDX-License-Identifier: Apache-2.0
#include "quant/float_weight.h"

#include <cmath>

#include "base/error.h"
#include "tensor/half.h"

namespace anemone::quant {
Shape projection_shape(const MatrixSource& matrix) {
  return {matrix.rows(), matrix.columns(), 1, 1};
}

Status check_row(const MatrixSource& matrix, std::int64_t row, std::span<const float> values,
                 DType float_type) {
  float largest = 0;
  bool has_nan = false;
  for (const float value : values) {
    largest = std::max(largest, std::abs(value));
    has_nan = has_nan || value != value;
  }
  if (has_nan || std::isinf(largest))
    return corrupt("[{}] expected finite weights, got {} in row {}", matrix.name(),
                   has_nan ? "NaN" : "infinity", row);
  if (float_type == DType::kFp16 && largest > kLargestHalf)
    return unsupported(
        "[{}] expected weights that fp16 can hold, got {} in row {}: compile with --precision fp32",
        matrix.name(), largest, row);
  return {};
}

StoredWeight store_float(std::shared_ptr<const MatrixSource> matrix, DType float_type) {
  const Shape shape = projection_shape(*matrix);
  const std::uint64_t bytes =
      dtype_bytes(float_type, static_cast<std::uint64_t>(element_count(shape)));
  auto make = [matrix, float_type, shape]() -> Result<Tensor> {
    Tensor tensor(float_type, shape);
    const auto columns = static_cast<std::size_t>(matrix->columns());
    const std::size_t row_bytes = static_cast<std::size_t>(dtype_bytes(float_type, columns));
    RowReader rows(*matrix);
    for (std::int64_t r = 0; r < matrix->rows(); ++r) {
      const std::span<const float> row = rows.row(r);
      ANEMONE_RETURN_IF_ERROR(check_row(*matrix, r, row, float_type));
      store_floats(row, {float_type,
                         {matrix->columns()},
                         tensor.mutable_data() + static_cast<std::size_t>(r) * row_bytes});
    }
    matrix->release();
    return tensor;
  };
  StoredWeight weight;
  weight.op = "const";
  weight.parameters.emplace_back("val", ir::Literal(ir::Type::tensor(float_type, shape),
                                                    ir::lazy_data(bytes, std::move(make))));
  return weight;
}

}  // namespace anemone::quant
