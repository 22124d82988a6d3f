// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {
namespace {

// Bits of an index into one table, in the form with packed bytes; 0 when no index has them.
int packed_bits(const Shape& lut) {
  if (lut.size() != 1) return 0;
  for (const int bits : {1, 2, 4, 6, 8})
    if (lut[0] == 1 << bits) return bits;
  return 0;
}

// An operation with the parameter `shape` has packed bytes of indices and one table. An operation
// without it has indices in the shape of the weight, and its lut is [groups..., 2^bits, vector
// size].
Status infer_lut(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& indices = context.type("indices");
  const ir::Type& lut = context.type("lut");
  Shape out;
  if (context.has("shape")) {
    const int bits = packed_bits(lut.shape);
    if (bits == 0 || indices.dtype != DType::kUInt8)
      return ir::violated("constexpr_lut_to_dense_c5",
                          "expected uint8 indices and a lut of 2, 4, 16, 64 or 256 entries, got {} "
                          "and {}",
                          dtype_name(indices.dtype), to_string(lut.shape));
    ANEMONE_ASSIGN_OR_RETURN(
        out, packed_shape(context, indices.shape, bits, "constexpr_lut_to_dense_c6"));
  } else {
    ANEMONE_ASSIGN_OR_RETURN(
        out, check_lut(context, "constexpr_lut_to_dense", indices.shape, indices.dtype));
  }
  return add_output(outputs, "constexpr_lut_to_dense_c7", lut.dtype, std::move(out));
}

}  // namespace

ir::OpSchema constexpr_lut_to_dense_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_lut_to_dense";
  schema.since = ir::Opset::kIOS16;
  schema.parameters = {
      constant("indices", kPaletteIndices),
      constant("lut", kPaletteData),
      optional(constant("shape", {DType::kUInt32})),
      since(ir::Opset::kIOS18, optional(constant("vector_axis", kInt32))),
  };
  schema.infer = infer_lut;
  return schema;
}

}  // namespace anemone::ops
