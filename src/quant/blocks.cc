// SPDX-License-Identifier: Apache-2.0
#include "quant/blocks.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "quant/float_weight.h"
#include "quant/packed_rows.h"
#include "quant/scales.h"

namespace anemone::quant {
namespace {

// The scales of a matrix, computed when they or the data are asked for first. Thread-safe.
class Blocks {
 public:
  Blocks(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
         std::int64_t block)
      : matrix_(std::move(matrix)),
        float_type_(float_type),
        dtype_(dtype),
        largest_quant_(dtype == DType::kInt4 ? 7.0f : 127.0f),
        block_(static_cast<std::size_t>(fitting_divisor(matrix_->columns(), block))),
        blocks_(static_cast<std::size_t>(matrix_->columns()) / block_) {}

  Shape scale_shape() const { return {matrix_->rows(), static_cast<std::int64_t>(blocks_), 1, 1}; }

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
        [this](std::int64_t row, std::span<const float> values, std::span<std::int32_t> quants) {
          const float* scale = &scales_[static_cast<std::size_t>(row) * blocks_];
          for (std::size_t i = 0; i < values.size(); ++i)
            quants[i] = static_cast<std::int32_t>(std::clamp(
                std::nearbyint(values[i] / scale[i / block_]), -largest_quant_, largest_quant_));
        });
  }

 private:
  Status compute() {
    std::call_once(once_, [this] { status_ = measure(); });
    return status_;
  }

  Status measure() {
    std::vector<float> row(static_cast<std::size_t>(matrix_->columns()));
    scales_.reserve(static_cast<std::size_t>(matrix_->rows()) * blocks_);
    for (std::int64_t r = 0; r < matrix_->rows(); ++r) {
      matrix_->read_row(r, row);
      ANEMONE_RETURN_IF_ERROR(check_row(*matrix_, r, row, DType::kFp32));
      for (std::size_t b = 0; b < blocks_; ++b) {
        float largest = 0;
        for (const float value : std::span(row).subspan(b * block_, block_))
          largest = std::max(largest, std::abs(value));
        ANEMONE_ASSIGN_OR_RETURN(const float scale,
                                 stored_scale(largest / largest_quant_, float_type_, *matrix_));
        scales_.push_back(scale);
      }
    }
    matrix_->release();
    return {};
  }

  std::shared_ptr<const MatrixSource> matrix_;
  const DType float_type_;
  const DType dtype_;
  const float largest_quant_;
  const std::size_t block_;
  const std::size_t blocks_;  // of a row
  std::once_flag once_;
  Status status_;
  std::vector<float> scales_;
};

}  // namespace

StoredWeight store_blocks(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
                          std::int64_t block) {
  const Shape shape = projection_shape(*matrix);
  auto blocks = std::make_shared<Blocks>(std::move(matrix), float_type, dtype, block);
  const Shape scale_shape = blocks->scale_shape();
  const auto bytes = [](DType type, const Shape& of) {
    return dtype_bytes(type, static_cast<std::uint64_t>(element_count(of)));
  };
  StoredWeight weight;
  weight.op = "constexpr_blockwise_shift_scale";
  weight.parameters.emplace_back(
      "data", ir::Literal(ir::Type::tensor(dtype, shape),
                          ir::lazy_data(bytes(dtype, shape), [blocks] { return blocks->data(); })));
  weight.parameters.emplace_back("scale",
                                 ir::Literal(ir::Type::tensor(float_type, scale_shape),
                                             ir::lazy_data(bytes(float_type, scale_shape),
                                                           [blocks] { return blocks->scales(); })));
  return weight;
}

std::uint64_t block_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                          std::int64_t block) {
  const std::int64_t scales = rows * (columns / fitting_divisor(columns, block));
  return dtype_bytes(dtype, static_cast<std::uint64_t>(rows * columns)) +
         dtype_bytes(float_type, static_cast<std::uint64_t>(scales));
}

}  // namespace anemone::quant
