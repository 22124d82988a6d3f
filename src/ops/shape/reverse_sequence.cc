// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

Status infer_reverse_sequence(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  ANEMONE_RETURN_IF_ERROR(check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kFloatsInt32Bool,
                                              "reverse_sequence_c1"));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"lengths"}, kInt32, "reverse_sequence_c1"));
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t sequence,
                           axis_parameter(context, "seq_axis", 0, rank, "reverse_sequence_c2"));
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t batch,
                           axis_parameter(context, "batch_axis", 0, rank, "reverse_sequence_c2"));
  // Both are 0 by default, which no sequence of a batch can have.
  if (sequence == batch)
    return ir::violated("reverse_sequence_c3", "expected seq_axis and batch_axis to differ");
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "lengths", x.shape[batch], "reverse_sequence_c4"));
  if (const auto lengths = context.ints("lengths"))
    for (const std::int64_t length : *lengths)
      if (length < 0 || (x.shape[sequence] != kDynamic && length > x.shape[sequence]))
        return ir::violated("reverse_sequence_c5", "expected lengths from 0 to {}, got {}",
                            x.shape[sequence], length);
  outputs.push_back(x);
  return ok_status();
}

}  // namespace

ir::OpSchema reverse_sequence_schema() {
  ir::OpSchema schema;
  schema.name = "reverse_sequence";
  schema.parameters = {operand("x", kAny), operand("lengths", kPositions),
                       defaulted("seq_axis", kInt32, ir::Literal::int32(0)),
                       defaulted("batch_axis", kInt32, ir::Literal::int32(0))};
  schema.infer = infer_reverse_sequence;
  return schema;
}

}  // namespace anemone::ops
