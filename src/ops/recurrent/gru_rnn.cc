// SPDX-License-Identifier: Apache-2.0
// gru and rnn: one state that goes one way. A gru has three gates and says more about them.
#include <vector>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/sequence.h"

namespace anemone::ops {
namespace {

// What both check; each has its own activations.
Result<Sequence> read_one_way(const ir::InferContext& context, const std::string& op,
                              std::int64_t gates,
                              std::initializer_list<std::string_view> activations) {
  ANEMONE_ASSIGN_OR_RETURN(const Sequence sequence, read_sequence(context, op, gates, activations));
  ANEMONE_RETURN_IF_ERROR(check_initial(context, op, "initial_h", sequence, sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, op, "bias", gates * sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "direction", "forward", {"forward", "reverse"}, op + "_c5")
          .status());
  return sequence;
}

Status infer_gru(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(const Sequence sequence,
                           read_one_way(context, "gru", 3, {"recurrent_activation", "activation"}));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "gru", "input_bias", 3 * sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"reset_after"}, "gru_c1"));
  return add_sequence(context, "gru", sequence, sequence.hidden, 1, outputs);
}

Status infer_rnn(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(const Sequence sequence,
                           read_one_way(context, "rnn", 1, {"activation"}));
  return add_sequence(context, "rnn", sequence, sequence.hidden, 1, outputs);
}

ir::OpSchema one_way_schema(std::string_view name) {
  ir::OpSchema schema;
  schema.name = name;
  schema.parameters = {
      operand("x", kFloats, 'T'),
      operand("initial_h", kFloats, 'T'),
      constant("weight_ih", kFloats, 'T'),
      constant("weight_hh", kFloats, 'T'),
      optional(constant("bias", kFloats, 'T')),
      defaulted("direction", kText, ir::Literal::text("forward")),
      defaulted("output_sequence", kBool, ir::Literal::boolean(false)),
      defaulted("activation", kText, ir::Literal::text("tanh")),
  };
  return schema;
}

}  // namespace

ir::OpSchema gru_schema() {
  ir::OpSchema schema = one_way_schema("gru");
  for (const ir::Parameter& parameter :
       {defaulted("recurrent_activation", kText, ir::Literal::text("sigmoid")),
        since(ir::Opset::kIOS18, optional(constant("reset_after", kBool))),
        since(ir::Opset::kIOS18, optional(constant("input_bias", kFloats, 'T')))})
    schema.parameters.push_back(parameter);
  schema.infer = infer_gru;
  return schema;
}

ir::OpSchema rnn_schema() {
  ir::OpSchema schema = one_way_schema("rnn");
  schema.infer = infer_rnn;
  return schema;
}

}  // namespace anemone::ops
