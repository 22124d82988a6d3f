// SPDX-License-Identifier: Apache-2.0
#include "quant/linear.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "base/error.h"
#include "quant/float_weight.h"
#include "quant/packed_rows.h"
#include "tensor/half.h"

namespace anemone::quant {
namespace {

constexpr float kSmallestHalf = 0x1p-24f;

// The scales of one matrix, computed in one pass when they or the data are asked for first, and
// kept: they are few. Thread-safe.
class LinearWeight {
 public:
  LinearWeight(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
               const Tile& tile, std::shared_ptr<QuantError> error)
      : matrix_(std::move(matrix)),
        float_type_(float_type),
        dtype_(dtype),
        largest_quant_(dtype == DType::kInt4 ? 7.0f : 127.0f),
        tile_rows_(tile.rows),
        tile_columns_(static_cast<std::size_t>(tile.columns)),
        tiles_(static_cast<std::size_t>(matrix_->columns() / tile.columns)),
        error_(std::move(error)) {}

  Shape scale_shape() const {
    return {matrix_->rows() / tile_rows_, static_cast<std::int64_t>(tiles_), 1, 1};
  }

  Result<Tensor> scales() {
    ANEMONE_RETURN_IF_ERROR(compute());
    Tensor out(float_type_, scale_shape());
    store_floats(scales_, out.mutable_view());
    return out;
  }

  Result<Tensor> data() {
    ANEMONE_RETURN_IF_ERROR(compute());
    return pack_rows(
        *matrix_, dtype_,
        [this](std::int64_t row, std::span<const float> values, std::span<std::int32_t> quants,
               std::span<float> restored) {
          quantize(row, values, quants);
          if (!restored.empty()) restore(row, quants, restored);
        },
        error_.get());
  }

 private:
  float* scales_of_row(std::int64_t row) {
    return &scales_[static_cast<std::size_t>(row / tile_rows_) * tiles_];
  }

  void quantize(std::int64_t row, std::span<const float> values, std::span<std::int32_t> quants) {
    for (std::size_t t = 0; t < tiles_; ++t) {
      const float scale = scales_of_row(row)[t];
      for (std::size_t i = t * tile_columns_; i < (t + 1) * tile_columns_; ++i)
        quants[i] = static_cast<std::int32_t>(
            std::clamp(std::nearbyint(values[i] / scale), -largest_quant_, largest_quant_));
    }
  }

  void restore(std::int64_t row, std::span<const std::int32_t> quants, std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(quants[i]) * scales_of_row(row)[i / tile_columns_];
  }

  Status compute() {
    std::call_once(once_, [this] { status_ = measure(); });
    return status_;
  }

  Status measure() {
    RowReader rows(*matrix_);
    scales_.assign(static_cast<std::size_t>(element_count(scale_shape())), 0.0f);
    for (std::int64_t r = 0; r < matrix_->rows(); ++r) {
      const std::span<const float> row = rows.row(r);
      ANEMONE_RETURN_IF_ERROR(check_row(*matrix_, r, row, DType::kFp32));
      for (std::size_t t = 0; t < tiles_; ++t) {
        float& largest = scales_of_row(r)[t];
        for (const float value : row.subspan(t * tile_columns_, tile_columns_))
          largest = std::max(largest, std::abs(value));
      }
    }
    matrix_->release();
    for (float& scale : scales_) {
      scale /= largest_quant_;
      if (float_type_ == DType::kFp16) scale = std::max(to_float(to_half(scale)), kSmallestHalf);
      if (scale == 0.0f) scale = 1.0f;  // all zeros: any scale does
      if (!std::isfinite(scale))
        return corrupt("[{}] the weights are too large for an fp16 scale", matrix_->name());
    }
    return {};
  }

  std::shared_ptr<const MatrixSource> matrix_;
  const DType float_type_;
  const DType dtype_;
  const float largest_quant_;
  const std::int64_t tile_rows_;
  const std::size_t tile_columns_;
  const std::size_t tiles_;  // of a row
  std::shared_ptr<QuantError> error_;
  std::once_flag once_;
  Status status_;
  std::vector<float> scales_;
};

std::uint64_t bytes_of(DType dtype, const Shape& shape) {
  return dtype_bytes(dtype, static_cast<std::uint64_t>(element_count(shape)));
}

}  // namespace

StoredWeight store_linear(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
                          const Tile& tile, bool measure_error) {
  const Shape shape = projection_shape(*matrix);
  auto error = measure_error ? std::make_shared<QuantError>() : nullptr;
  auto linear = std::make_shared<LinearWeight>(std::move(matrix), float_type, dtype, tile, error);
  const Shape scale_shape = linear->scale_shape();
  StoredWeight weight;
  weight.error = std::move(error);
  weight.op = "constexpr_blockwise_shift_scale";
  weight.parameters.emplace_back(
      "data",
      ir::Literal(ir::Type::tensor(dtype, shape),
                  ir::lazy_data(bytes_of(dtype, shape), [linear] { return linear->data(); })));
  weight.parameters.emplace_back("scale",
                                 ir::Literal(ir::Type::tensor(float_type, scale_shape),
                                             ir::lazy_data(bytes_of(float_type, scale_shape),
                                                           [linear] { return linear->scales(); })));
  return weight;
}

std::uint64_t linear_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                           const Tile& tile) {
  return bytes_of(dtype, {rows, columns}) +
         bytes_of(float_type, {rows / tile.rows, columns / tile.columns});
}

}  // namespace anemone::quant
