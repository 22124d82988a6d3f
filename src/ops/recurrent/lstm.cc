// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/sequence.h"

namespace anemone::ops {
namespace {

// The weights of the way back are used by bidirectional layers alone.
Status check_backward(const ir::InferContext& context, const Sequence& sequence) {
  for (const std::string_view way : {"ih", "hh"}) {
    const std::string forward = fmt::format("weight_{}", way);
    const std::string backward = forward + "_back";
    if (!context.has(backward) || context.type(backward).shape != context.type(forward).shape)
      return ir::violated("lstm_c2", "expected {} of the shape of {} for a bidirectional layer",
                          backward, forward);
  }
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "lstm", "bias_back", 4 * sequence.hidden));
  return check_gates(context, "lstm", "peephole_back", 3 * sequence.hidden);
}

Status infer_lstm(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(
      const Sequence sequence,
      read_sequence(context, "lstm", 4, {"recurrent_activation", "cell_activation", "activation"}));
  ANEMONE_ASSIGN_OR_RETURN(const std::string_view direction,
                           choice_parameter(context, "direction", "forward",
                                            {"forward", "reverse", "bidirectional"}, "lstm_c5"));
  const bool is_both = direction == "bidirectional";
  const std::int64_t width = is_both ? 2 * sequence.hidden : sequence.hidden;
  ANEMONE_RETURN_IF_ERROR(check_initial(context, "lstm", "initial_h", sequence, width));
  ANEMONE_RETURN_IF_ERROR(check_initial(context, "lstm", "initial_c", sequence, width));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "lstm", "bias", 4 * sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "lstm", "peephole", 3 * sequence.hidden));
  if (is_both) ANEMONE_RETURN_IF_ERROR(check_backward(context, sequence));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"clip"}, "lstm_c4"));
  return add_sequence(context, "lstm", sequence, width, 2, outputs);
}

}  // namespace

ir::OpSchema lstm_schema() {
  ir::OpSchema schema;
  schema.name = "lstm";
  schema.parameters = {
      operand("x", kFloats, 'T'),
      operand("initial_h", kFloats, 'T'),
      operand("initial_c", kFloats, 'T'),
      constant("weight_ih", kFloats, 'T'),
      constant("weight_hh", kFloats, 'T'),
      optional(constant("bias", kFloats, 'T')),
      optional(constant("peephole", kFloats, 'T')),
      optional(constant("weight_ih_back", kFloats, 'T')),
      optional(constant("weight_hh_back", kFloats, 'T')),
      optional(constant("bias_back", kFloats, 'T')),
      optional(constant("peephole_back", kFloats, 'T')),
      defaulted("direction", kText, ir::Literal::text("forward")),
      defaulted("output_sequence", kBool, ir::Literal::boolean(false)),
      defaulted("recurrent_activation", kText, ir::Literal::text("sigmoid")),
      defaulted("cell_activation", kText, ir::Literal::text("tanh")),
      defaulted("activation", kText, ir::Literal::text("tanh")),
      optional(constant("clip", kFloats, 'T')),
  };
  schema.infer = infer_lstm;
  return schema;
}

}  // namespace anemone::ops
