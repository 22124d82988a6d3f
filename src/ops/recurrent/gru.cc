// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/sequence.h"

namespace anemone::ops {
namespace {

Status infer_gru(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(
      const Sequence sequence,
      read_sequence(context, "gru", 3, {"recurrent_activation", "activation"}));
  ANEMONE_RETURN_IF_ERROR(check_initial(context, "gru", "initial_h", sequence, sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "gru", "bias", 3 * sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "gru", "input_bias", 3 * sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"reset_after"}, "gru_c1"));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "direction", "forward", {"forward", "reverse"}, "gru_c5").status());
  return add_sequence(context, "gru", sequence, sequence.hidden, 1, outputs);
}

}  // namespace

ir::OpSchema gru_schema() {
  ir::OpSchema schema;
  schema.name = "gru";
  schema.parameters = {
      operand("x", kFloats, 'T'),
      operand("initial_h", kFloats, 'T'),
      constant("weight_ih", kFloats, 'T'),
      constant("weight_hh", kFloats, 'T'),
      optional(constant("bias", kFloats, 'T')),
      defaulted("direction", kText, ir::Literal::text("forward")),
      defaulted("output_sequence", kBool, ir::Literal::boolean(false)),
      defaulted("recurrent_activation", kText, ir::Literal::text("sigmoid")),
      defaulted("activation", kText, ir::Literal::text("tanh")),
      since(ir::Opset::kIOS18, optional(constant("reset_after", kBool))),
      since(ir::Opset::kIOS18, optional(constant("input_bias", kFloats, 'T'))),
  };
  schema.infer = infer_gru;
  return schema;
}

}  // namespace anemone::ops
