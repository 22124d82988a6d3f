// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/weight_matrix.h"

namespace anemone::exec {
namespace {

using kernels::simd::Matrix;
using Form = Matrix::Form;

// [rows, k, 1, 1, ...]
bool is_matrix(const Shape& shape) {
  if (shape.size() < 2) return false;
  for (std::size_t i = 2; i < shape.size(); ++i)
    if (shape[i] != 1) return false;
  return shape[0] > 0 && shape[1] > 0;
}

Matrix view_of(Form form, const TensorView& data, int bits) {
  return {.form = form, .rows = data.shape[0], .k = data.shape[1], .data = data.data, .bits = bits};
}

std::optional<Matrix> scaled(const FusionGraph& graph, const PreparedOp& op) {
  const TensorView* data = graph.constant(FusionGraph::argument(op, "data"));
  const TensorView* scale = graph.constant(FusionGraph::argument(op, "scale"));
  if (data == nullptr || scale == nullptr) return std::nullopt;
  if (!is_matrix(data->shape) || !is_matrix(scale->shape) || scale->dtype != DType::kFp16)
    return std::nullopt;
  Matrix m;
  if (data->dtype == DType::kInt8)
    m = view_of(Form::kInt8, *data, 8);
  else if (data->dtype == DType::kInt4 && data->shape[1] % 2 == 0)
    m = view_of(Form::kInt4, *data, 4);
  else
    return std::nullopt;
  if (m.rows % scale->shape[0] != 0 || m.k % scale->shape[1] != 0) return std::nullopt;
  m.scales = scale->as<Half>().data();
  if (const int offset = FusionGraph::argument(op, "offset"); offset >= 0) {
    const TensorView* offsets = graph.constant(offset);
    if (offsets == nullptr || offsets->dtype != DType::kFp16 || offsets->shape != scale->shape)
      return std::nullopt;
    m.offsets = offsets->as<Half>().data();
  }
  m.block_rows = m.rows / scale->shape[0];
  m.block_k = m.k / scale->shape[1];
  return m;
}

// One scale for all or one per row; the zero points are 0. Packages for systems before iOS 18.
std::optional<Matrix> affine(const FusionGraph& graph, const PreparedOp& op) {
  const TensorView* data = graph.constant(FusionGraph::argument(op, "quantized_data"));
  const TensorView* scale = graph.constant(FusionGraph::argument(op, "scale"));
  const TensorView* zero = graph.constant(FusionGraph::argument(op, "zero_point"));
  const TensorView* axis = graph.constant(FusionGraph::argument(op, "axis"));
  if (data == nullptr || scale == nullptr || zero == nullptr || axis == nullptr)
    return std::nullopt;
  if (data->dtype != DType::kInt8 || zero->dtype != DType::kInt8 || !is_matrix(data->shape) ||
      scale->dtype != DType::kFp16 || (!scale->shape.empty() && axis->as<std::int32_t>()[0] != 0))
    return std::nullopt;
  for (const std::int8_t point : zero->as<std::int8_t>())
    if (point != 0) return std::nullopt;
  Matrix m = view_of(Form::kInt8, *data, 8);
  m.scales = scale->as<Half>().data();
  m.block_rows = scale->shape.empty() ? m.rows : 1;
  m.block_k = m.k;
  return m;
}

// The palette of all elements and their indices as a vector of bytes, as before iOS 18.
std::optional<Matrix> palettized_as_a_whole(const FusionGraph& graph, const PreparedOp& op) {
  const TensorView* indices = graph.constant(FusionGraph::argument(op, "indices"));
  const TensorView* lut = graph.constant(FusionGraph::argument(op, "lut"));
  const TensorView* shape = graph.constant(FusionGraph::argument(op, "shape"));
  if (indices == nullptr || lut == nullptr || shape == nullptr || lut->dtype != DType::kFp16 ||
      lut->shape.size() != 1 || shape->dtype != DType::kUInt32)
    return std::nullopt;
  const std::int64_t entries = lut->shape[0];
  const int bits = entries == 16 ? 4 : entries == 64 ? 6 : entries == 256 ? 8 : 0;
  const auto sizes = shape->as<std::uint32_t>();
  TensorView matrix = *indices;
  matrix.shape = Shape(sizes.begin(), sizes.end());
  if (bits == 0 || !is_matrix(matrix.shape) || matrix.shape[1] * bits % 8 != 0) return std::nullopt;
  Matrix m = view_of(Form::kPalette, matrix, bits);
  m.palette = lut->as<Half>().data();
  m.group = m.rows;
  return m;
}

std::optional<Matrix> palettized(const FusionGraph& graph, const PreparedOp& op) {
  const TensorView* indices = graph.constant(FusionGraph::argument(op, "indices"));
  const TensorView* lut = graph.constant(FusionGraph::argument(op, "lut"));
  if (indices == nullptr || lut == nullptr || FusionGraph::argument(op, "vector_axis") >= 0)
    return std::nullopt;
  const int bits = indices->dtype == DType::kUInt4   ? 4
                   : indices->dtype == DType::kUInt6 ? 6
                   : indices->dtype == DType::kUInt8 ? 8
                                                     : 0;
  if (bits == 0 || !is_matrix(indices->shape) || lut->dtype != DType::kFp16 ||
      lut->shape.size() != indices->shape.size() + 2)
    return std::nullopt;
  // [groups, 1, ..., palette, 1]: groups of rows only, and no vectors.
  const Shape& shape = lut->shape;
  for (std::size_t i = 1; i + 2 < shape.size(); ++i)
    if (shape[i] != 1) return std::nullopt;
  if (shape[shape.size() - 2] != std::int64_t{1} << bits || shape.back() != 1) return std::nullopt;
  Matrix m = view_of(Form::kPalette, *indices, bits);
  if (m.rows % shape[0] != 0 || m.k * bits % 8 != 0) return std::nullopt;
  m.palette = lut->as<Half>().data();
  m.group = m.rows / shape[0];
  return m;
}

}  // namespace

std::optional<Matrix> weight_matrix(const FusionGraph& graph, int reg) {
  if (const TensorView* plain = graph.constant(reg)) {
    if (plain->dtype != DType::kFp16 || !is_matrix(plain->shape)) return std::nullopt;
    return view_of(Form::kHalf, *plain, 16);
  }
  if (const PreparedOp* op = graph.producer(reg, "constexpr_blockwise_shift_scale"))
    return scaled(graph, *op);
  if (const PreparedOp* op = graph.producer(reg, "constexpr_affine_dequantize"))
    return affine(graph, *op);
  if (const PreparedOp* op = graph.producer(reg, "constexpr_lut_to_dense"))
    return FusionGraph::argument(*op, "shape") >= 0 ? palettized_as_a_whole(graph, *op)
                                                    : palettized(graph, *op);
  return std::nullopt;
}

}  // namespace anemone::exec
