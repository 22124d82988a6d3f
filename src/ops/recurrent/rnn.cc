// SPDX-License-Identifier: Apache-2.0
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/sequence.h"

namespace anemone::ops {
namespace {

Status infer_rnn(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  ANEMONE_ASSIGN_OR_RETURN(const Sequence sequence,
                           read_sequence(context, "rnn", 1, {"activation"}));
  ANEMONE_RETURN_IF_ERROR(check_initial(context, "rnn", "initial_h", sequence, sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(check_gates(context, "rnn", "bias", sequence.hidden));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "direction", "forward", {"forward", "reverse"}, "rnn_c5").status());
  return add_sequence(context, "rnn", sequence, sequence.hidden, 1, outputs);
}

}  // namespace

ir::OpSchema rnn_schema() {
  ir::OpSchema schema;
  schema.name = "rnn";
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
  schema.infer = infer_rnn;
  return schema;
}

}  // namespace anemone::ops
