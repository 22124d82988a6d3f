// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/offload_products.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "exec/cpu/fusion/projection_op.h"
#include "tensor/bits.h"

namespace anemone::exec {
namespace {

using kernels::simd::Matrix;

// Indices or integers of one row.
std::vector<std::int32_t> integers(const Matrix& matrix, std::int64_t row) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(matrix.k));
  const std::byte* data = matrix.row(row);
  if (matrix.bits == 8) {
    const bool is_signed = matrix.form == Matrix::Form::kInt8;
    std::ranges::transform(std::span(data, out.size()), out.begin(), [&](std::byte byte) {
      const auto value = std::to_integer<std::uint8_t>(byte);
      return is_signed ? static_cast<std::int8_t>(value) : std::int32_t{value};
    });
    return out;
  }
  const DType dtype = matrix.form == Matrix::Form::kInt4 ? DType::kInt4
                      : matrix.bits == 6                 ? DType::kUInt6
                                                         : DType::kUInt4;
  unpack_bits(std::span(data, static_cast<std::size_t>(matrix.row_bytes())), dtype, out);
  return out;
}

void decode_row(const Matrix& matrix, std::int64_t row, Half* out) {
  if (matrix.form == Matrix::Form::kHalf) {
    std::memcpy(out, matrix.row(row), static_cast<std::size_t>(matrix.row_bytes()));
    return;
  }
  if (matrix.form == Matrix::Form::kFloat) {
    for (std::int64_t i = 0; i < matrix.k; ++i) {
      float value = 0;
      std::memcpy(&value, matrix.row(row) + i * std::int64_t{sizeof(float)}, sizeof(value));
      out[i] = to_half(value);
    }
    return;
  }
  const std::vector<std::int32_t> values = integers(matrix, row);
  for (std::int64_t i = 0; i < matrix.k; ++i) {
    const std::int32_t value = values[static_cast<std::size_t>(i)];
    out[i] =
        matrix.form == Matrix::Form::kPalette
            ? matrix.palette[(row / matrix.group << matrix.bits) + value]
            : to_half((static_cast<float>(value) - matrix.offset(row, i)) * matrix.scale(row, i));
  }
}

class Offer : public ProductOffer {
 public:
  explicit Offer(const ProjectionOp& projection) : projection_(projection) {}
  std::int64_t rows() const override { return projection_.matrix().rows; }
  std::int64_t k() const override { return projection_.matrix().k; }
  const void* weights_key() const override { return projection_.matrix().data; }
  const void* bias_key() const override { return projection_.bias(); }
  Tensor weights() const override { return dense_weights(projection_.matrix()); }
  Tensor bias() const override {
    if (projection_.bias() == nullptr) return {};
    return Tensor::from<Half>({rows()},
                              std::span(projection_.bias(), static_cast<std::size_t>(rows())));
  }

 private:
  const ProjectionOp& projection_;
};

}  // namespace

Tensor dense_weights(const Matrix& matrix) {
  Tensor out(DType::kFp16, {matrix.rows, matrix.k});
  Half* data = out.mutable_view().as<Half>().data();
  for (std::int64_t r = 0; r < matrix.rows; ++r) decode_row(matrix, r, data + r * matrix.k);
  return out;
}

void offload_products(PreparedFunction& function, ProductOffload& offload) {
  for (PreparedOp& op : function.block.ops) {
    if (op.kind != PreparedOp::Kind::kFused) continue;
    const auto* projection = dynamic_cast<const ProjectionOp*>(op.fused.get());
    if (projection == nullptr) continue;
    if (auto taken = offload.offer(Offer(*projection)))
      op.fused = std::make_shared<ProjectionOp>(*projection, std::move(taken));
  }
}

}  // namespace anemone::exec
