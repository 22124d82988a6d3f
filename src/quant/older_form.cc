// SPDX-License-Identifier: Apache-2.0
#include "quant/older_form.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace anemone::quant {
namespace {

// The same bytes with another type.
ir::Literal retyped(const ir::Literal& literal, DType dtype, const Shape& shape) {
  return ir::Literal(ir::Type::tensor(dtype, shape), literal.data());
}

ir::Literal uint32s(const Shape& values) {
  Tensor tensor(DType::kUInt32, {static_cast<std::int64_t>(values.size())});
  std::ranges::transform(values, tensor.mutable_view().as<std::uint32_t>().begin(),
                         [](std::int64_t value) { return static_cast<std::uint32_t>(value); });
  return ir::Literal::of(std::move(tensor));
}

Result<StoredWeight> affine(StoredWeight weight) {
  const ir::Literal data = weight.parameters[0].second;
  const ir::Literal scale = weight.parameters[1].second;
  const Shape& scales = scale.type().shape;
  const std::int64_t rows = data.type().shape[0];
  if (data.type().dtype != DType::kInt8 || scales[1] != 1 || (scales[0] != 1 && scales[0] != rows))
    return unsupported(
        "a weight before iOS 18 expected int8 with one scale per matrix or output channel, got {} "
        "with scales {}",
        dtype_name(data.type().dtype), to_string(scales));
  weight.op = "constexpr_affine_dequantize";
  weight.parameters = {
      {"quantized_data", data},
      {"zero_point", ir::Literal::of(Tensor(DType::kInt8, Shape{}))},
      {"scale", retyped(scale, scale.type().dtype, scales[0] == 1 ? Shape{} : Shape{scales[0]})},
      {"axis", ir::Literal::int32(0)}};
  return weight;
}

Result<StoredWeight> palette(StoredWeight weight) {
  const ir::Literal indices = weight.parameters[0].second;
  const ir::Literal lut = weight.parameters[1].second;
  const Shape& luts = lut.type().shape;
  if (luts[0] != 1)
    return unsupported("a weight before iOS 18 expected one palette per matrix, got {}", luts[0]);
  const ir::Type& type = indices.type();
  const auto bytes = dtype_bytes(type.dtype, static_cast<std::uint64_t>(element_count(type.shape)));
  weight.parameters = {
      {"indices", retyped(indices, DType::kUInt8, {static_cast<std::int64_t>(bytes)})},
      {"lut", retyped(lut, lut.type().dtype, {luts[luts.size() - 2]})},
      {"shape", uint32s(type.shape)}};
  return weight;
}

}  // namespace

Result<StoredWeight> older_form(const StoredWeight& weight) {
  if (weight.op == "constexpr_blockwise_shift_scale") return affine(weight);
  if (weight.op == "constexpr_lut_to_dense") return palette(weight);
  return weight;
}

}  // namespace anemone::quant
