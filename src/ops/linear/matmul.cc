// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/linear/linear.h"

namespace anemone::ops {
namespace {

// Dtype of the result: that of both operands, or from iOS17 on that of the one that is no constant.
Result<DType> result_dtype(const ir::InferContext& context) {
  const DType x = context.type("x").dtype;
  const DType y = context.type("y").dtype;
  if (x == y) return x;
  const bool x_constant = context.is_constant("x");
  const bool y_constant = context.is_constant("y");
  if (context.opset() < ir::Opset::kIOS17 || (!x_constant && !y_constant))
    return ir::violated(
        "matmul_c4",
        "expected x and y of the same dtype (from ios17 on one may be a constant of "
        "another dtype), got {} and {}",
        dtype_name(x), dtype_name(y));
  if (x_constant != y_constant) return x_constant ? y : x;
  // At run time every operand is known; then the program has said what the result is.
  if (context.output_count() > 0 && context.declared_output(0) != nullptr &&
      context.declared_output(0)->dtype == y)
    return y;
  return x;
}

Status infer_matmul(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  Shape x = context.type("x").shape;
  Shape y = context.type("y").shape;
  if (x.empty() || y.empty())
    return ir::violated("matmul_c1", "expected x and y of rank 1 or more, got {} and {}",
                        to_string(x), to_string(y));
  const bool x_vector = x.size() == 1;
  const bool y_vector = y.size() == 1;
  bool transpose_x = false;
  bool transpose_y = false;
  if (context.has("transpose_x")) transpose_x = context.boolean("transpose_x").value_or(false);
  if (context.has("transpose_y")) transpose_y = context.boolean("transpose_y").value_or(false);
  // A vector is a row as x and a column as y; transposing it has no effect.
  if (x_vector) x.insert(x.begin(), 1);
  if (y_vector) y.push_back(1);
  if (transpose_x && !x_vector) std::swap(x[x.size() - 1], x[x.size() - 2]);
  if (transpose_y && !y_vector) std::swap(y[y.size() - 1], y[y.size() - 2]);
  if (!dims_agree(x.back(), y[y.size() - 2]))
    return ir::violated("matmul_c2", "expected the same contraction size in x and y, got {} and {}",
                        x.back(), y[y.size() - 2]);
  auto out = broadcast_shapes({x.begin(), x.end() - 2}, {y.begin(), y.end() - 2});
  if (!out.ok())
    return ir::violated("matmul_c3", "expected batch dimensions that broadcast, got {} and {}",
                        to_string(context.type("x").shape), to_string(context.type("y").shape));
  ANEMONE_ASSIGN_OR_RETURN(const DType dtype, result_dtype(context));
  if (!x_vector) out->push_back(x[x.size() - 2]);
  if (!y_vector) out->push_back(y.back());
  return add_output(outputs, "matmul_c5", dtype, std::move(*out));
}

}  // namespace

ir::OpSchema matmul_schema() {
  ir::OpSchema schema;
  schema.name = "matmul";
  schema.parameters = {
      operand("x", kNumeric),
      operand("y", kNumeric),
      defaulted("transpose_x", kBool, ir::Literal::boolean(false)),
      defaulted("transpose_y", kBool, ir::Literal::boolean(false)),
  };
  schema.infer = infer_matmul;
  return schema;
}

}  // namespace anemone::ops
