// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/sequence.h"

#include <algorithm>
#include <array>
#include <fmt/ranges.h>

#include "ops/common/infer.h"
#include "ops/common/params.h"

namespace anemone::ops {
namespace {

constexpr std::array<std::string_view, 7> kActivations = {
    "tanh", "scaled_tanh", "sigmoid", "hard_sigmoid", "sigmoid_hard", "relu", "linear"};

}  // namespace

Result<Sequence> read_sequence(const ir::InferContext& context, const std::string& op,
                               std::int64_t gates,
                               std::initializer_list<std::string_view> activations) {
  const ir::Type& x = context.type("x");
  if (context.opset() < ir::Opset::kIOS17 && x.dtype != DType::kFp32)
    return ir::violated(op + "_c7", "expected fp32 before ios17, got {}", dtype_name(x.dtype));
  if (x.shape.size() != 3)
    return ir::violated(op + "_c1", "expected x of [steps, batch, inputs], got {}",
                        to_string(x.shape));
  const Shape& weight_ih = context.type("weight_ih").shape;
  const Shape& weight_hh = context.type("weight_hh").shape;
  if (!is_static(weight_ih) || !is_static(weight_hh) || weight_hh.size() != 2 || weight_hh[1] < 1 ||
      weight_hh[0] != gates * weight_hh[1] || weight_ih.size() != 2 ||
      weight_ih[0] != weight_hh[0] || !dims_agree(weight_ih[1], x.shape[2]))
    return ir::violated(op + "_c2",
                        "expected weights of [{} x hidden, {}] and [{} x hidden, hidden], got {} "
                        "and {}",
                        gates, x.shape[2], gates, to_string(weight_ih), to_string(weight_hh));
  for (const std::string_view name : activations) {
    if (!context.has(name)) continue;
    const auto text = context.text(name);
    if (!text || std::find(kActivations.begin(), kActivations.end(), *text) == kActivations.end())
      return ir::violated(op + "_c6", "expected {} to be one of {}, got \"{}\"", name,
                          fmt::join(kActivations, ", "), text.value_or(""));
  }
  return Sequence{x.shape[0], x.shape[1], weight_ih[1], weight_hh[1]};
}

Status check_gates(const ir::InferContext& context, const std::string& op,
                   std::string_view parameter, std::int64_t length) {
  return check_vector(context, parameter, length, op + "_c4");
}

Status check_initial(const ir::InferContext& context, const std::string& op,
                     std::string_view parameter, const Sequence& sequence, std::int64_t width) {
  return merge_shapes(context.type(parameter).shape, {sequence.batch, width},
                      "initial states and [batch, hidden]", op + "_c3")
      .status();
}

Status add_sequence(const ir::InferContext& context, const std::string& op,
                    const Sequence& sequence, std::int64_t width, std::size_t states,
                    std::vector<ir::Type>& outputs) {
  const std::string constraint = op + "_c1";
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"output_sequence"}, constraint));
  const DType dtype = context.type("x").dtype;
  const bool is_all = context.boolean("output_sequence").value_or(false);
  ANEMONE_RETURN_IF_ERROR(
      add_output(outputs, constraint, dtype, {is_all ? sequence.steps : 1, sequence.batch, width}));
  for (std::size_t i = 0; i < states; ++i)
    ANEMONE_RETURN_IF_ERROR(add_output(outputs, constraint, dtype, {sequence.batch, width}));
  return ok_status();
}

}  // namespace anemone::ops
