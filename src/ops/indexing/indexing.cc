// SPDX-License-Identifier: Apache-2.0
#include "ops/indexing/indexing.h"

#include <algorithm>
#include <array>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"

namespace anemone::ops {
namespace {

constexpr ir::DTypeSet kIndices16{DType::kInt32, DType::kInt16, DType::kUInt16};
constexpr ir::DTypeSet kIndices = kIndices16 | ir::DTypeSet{DType::kInt8, DType::kUInt8};
constexpr std::array<std::string_view, 7> kModes = {"add", "sub", "mul",   "div",
                                                    "max", "min", "update"};

}  // namespace

std::vector<ir::Parameter> gather_operands() {
  return {operand("x", kNumeric | kIndices), operand("indices", kIndices)};
}

std::vector<ir::Parameter> scatter_operands() {
  return {operand("data", kNumeric, 'T'), operand("indices", kInt32),
          operand("updates", kNumeric, 'T'), defaulted("mode", kText, ir::Literal::text("add"))};
}

ir::Parameter axis_zero() {
  return defaulted("axis", kInt32, ir::Literal::int32(0));
}

ir::Parameter batch_dims() {
  return since(ir::Opset::kIOS16, defaulted("batch_dims", kInt32, ir::Literal::int32(0)));
}

ir::Parameter validate_indices() {
  return since(ir::Opset::kIOS17,
               defaulted("validate_indices", kBool, ir::Literal::boolean(false)));
}

Status check_gather_dtypes(const ir::InferContext& context, std::string_view constraint) {
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"x"}, kNumeric, constraint));
  ANEMONE_RETURN_IF_ERROR(
      check_dtypes_before(context, ir::Opset::kIOS17, {"indices"}, kIndices16, constraint));
  return check_dtypes_before(context, ir::Opset::kIOS16, {"indices"}, kInt32, constraint);
}

Status check_mode(const ir::InferContext& context, std::string_view constraint) {
  if (!context.has("mode")) return {};
  const auto mode = context.text("mode");
  if (!mode || std::find(kModes.begin(), kModes.end(), *mode) == kModes.end())
    return ir::violated(constraint,
                        "expected a mode of add, sub, mul, div, max, min or update, got \"{}\"",
                        mode.value_or("?"));
  return {};
}

Result<std::size_t> checked_batch_dims(const ir::InferContext& context, std::size_t limit,
                                       std::string_view constraint) {
  if (!context.has("batch_dims")) return std::size_t{0};
  const auto value = context.integer("batch_dims");
  if (!value || *value < 0 || *value > static_cast<std::int64_t>(limit))
    return ir::violated(constraint, "expected batch_dims of 0 to {}, got {}", limit,
                        value ? std::to_string(*value) : "an unknown value");
  const auto count = static_cast<std::size_t>(*value);
  const Shape& x = context.type("x").shape;
  const Shape& indices = context.type("indices").shape;
  for (std::size_t i = 0; i < count; ++i)
    if (!dims_agree(x[i], indices[i]))
      return ir::violated(constraint,
                          "expected x and indices to agree in {} batch dimensions, got {} and {}",
                          count, to_string(x), to_string(indices));
  return count;
}

Status check_updates(const ir::InferContext& context, const Shape& want,
                     std::string_view constraint) {
  return merge_shapes(context.type("updates").shape, want, "updates and the places they go to",
                      constraint)
      .status();
}

}  // namespace anemone::ops
