// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {
namespace {

// An operation with the parameter `shape` has a mask of packed bytes; without it the mask has the
// shape of the weight. The kernel, which reads the bits, checks that the mask has as many ones as
// there are nonzero elements (c3).
Status infer_sparse(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& mask = context.type("mask");
  const DType dtype = context.type("nonzero_data").dtype;
  ANEMONE_RETURN_IF_ERROR(
      check_vector(context, "nonzero_data", kDynamic, "constexpr_sparse_to_dense_c3"));
  const bool is_packed = context.has("shape");
  if (mask.dtype != (is_packed ? DType::kUInt8 : DType::kUInt1) ||
      (is_packed && is_sub_byte(dtype)))
    return ir::violated(
        "constexpr_sparse_to_dense_c1",
        "expected a uint1 mask, or a uint8 one with a shape for data of whole bytes, "
        "got {} for {}",
        dtype_name(mask.dtype), dtype_name(dtype));
  Shape out = mask.shape;
  if (is_packed) {
    ANEMONE_ASSIGN_OR_RETURN(out,
                             packed_shape(context, mask.shape, 1, "constexpr_sparse_to_dense_c2"));
  }
  return add_output(outputs, "constexpr_sparse_to_dense_c4", dtype, std::move(out));
}

}  // namespace

ir::OpSchema constexpr_sparse_to_dense_schema() {
  ir::OpSchema schema;
  schema.name = "constexpr_sparse_to_dense";
  schema.since = ir::Opset::kIOS16;
  schema.parameters = {
      constant("nonzero_data", kConstexprData),
      constant("mask", {DType::kUInt1, DType::kUInt8}),
      optional(constant("shape", {DType::kUInt32})),
  };
  schema.infer = infer_sparse;
  return schema;
}

}  // namespace anemone::ops
