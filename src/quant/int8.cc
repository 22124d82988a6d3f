// SPDX-License-Identifier: Apache-2.0
#include "quant/int8.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "quant/float_weight.h"
#include "quant/scales.h"

namespace anemone::quant {
namespace {

constexpr float kLargestQuant = 127.0f;

// The scales of one matrix, computed in one pass when either the scale or the data is asked for,
// and kept: they are few. Thread-safe.
class Scales {
 public:
  Scales(std::shared_ptr<const MatrixSource> matrix, DType float_type, bool per_channel)
      : matrix_(std::move(matrix)), float_type_(float_type), per_channel_(per_channel) {}

  const MatrixSource& matrix() const { return *matrix_; }
  std::int64_t count() const { return per_channel_ ? matrix_->rows() : 1; }
  float of_row(std::int64_t row) const {
    return values_[per_channel_ ? static_cast<std::size_t>(row) : 0];
  }

  Result<Tensor> tensor() {
    ANEMONE_RETURN_IF_ERROR(compute());
    Tensor out(float_type_, {count(), 1, 1, 1});
    store_floats(values_, out.mutable_view());
    return out;
  }

  Status compute() {
    std::call_once(once_, [this] { status_ = measure(); });
    return status_;
  }

 private:
  Status measure() {
    std::vector<float> row(static_cast<std::size_t>(matrix_->columns()));
    std::vector<float> largest(static_cast<std::size_t>(count()), 0.0f);
    for (std::int64_t r = 0; r < matrix_->rows(); ++r) {
      matrix_->read_row(r, row);
      ANEMONE_RETURN_IF_ERROR(check_row(*matrix_, r, row, DType::kFp32));
      float& slot = largest[per_channel_ ? static_cast<std::size_t>(r) : 0];
      for (const float value : row) slot = std::max(slot, std::abs(value));
    }
    matrix_->release();
    for (float& value : largest) {
      ANEMONE_ASSIGN_OR_RETURN(value, stored_scale(value / kLargestQuant, float_type_, *matrix_));
    }
    values_ = std::move(largest);
    return {};
  }

  std::shared_ptr<const MatrixSource> matrix_;
  const DType float_type_;
  const bool per_channel_;
  std::once_flag once_;
  Status status_;
  std::vector<float> values_;
};

Result<Tensor> quantize(Scales& scales) {
  ANEMONE_RETURN_IF_ERROR(scales.compute());
  const MatrixSource& matrix = scales.matrix();
  Tensor out(DType::kInt8, projection_shape(matrix));
  auto target = out.mutable_view().as<std::int8_t>();
  std::vector<float> row(static_cast<std::size_t>(matrix.columns()));
  std::size_t next = 0;
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    matrix.read_row(r, row);
    const float scale = scales.of_row(r);
    for (const float value : row)
      target[next++] = static_cast<std::int8_t>(
          std::clamp(std::nearbyint(value / scale), -kLargestQuant, kLargestQuant));
  }
  matrix.release();
  return out;
}

}  // namespace

StoredWeight store_int8(std::shared_ptr<const MatrixSource> matrix, DType float_type,
                        bool per_channel) {
  const Shape shape = projection_shape(*matrix);
  auto scales = std::make_shared<Scales>(std::move(matrix), float_type, per_channel);
  const Shape scale_shape = {scales->count(), 1, 1, 1};
  const auto scale_bytes = dtype_bytes(float_type, static_cast<std::uint64_t>(scales->count()));
  const auto data_bytes = static_cast<std::uint64_t>(element_count(shape));
  StoredWeight weight;
  weight.op = "constexpr_blockwise_shift_scale";
  weight.parameters.emplace_back(
      "data", ir::Literal(ir::Type::tensor(DType::kInt8, shape),
                          ir::lazy_data(data_bytes, [scales] { return quantize(*scales); })));
  weight.parameters.emplace_back(
      "scale", ir::Literal(ir::Type::tensor(float_type, scale_shape),
                           ir::lazy_data(scale_bytes, [scales] { return scales->tensor(); })));
  return weight;
}

}  // namespace anemone::quant
