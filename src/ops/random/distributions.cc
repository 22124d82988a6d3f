// SPDX-License-Identifier: Apache-2.0
// Draws from distributions.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_schema.h"
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/random/random.h"

namespace anemone::ops {
namespace {

// A result of the given `shape` (run-time) with numbers from a distribution that `constants`
// describe (scalars of one float dtype, which is that of the result; fp32 when all are absent), and
// a seed. Errors carry `<op>_c1` (shape), `<op>_c2` (constants, seed) and `<op>_c3` (size of the
// result).
struct DistributionConstant {
  std::string_view name;
  double fallback;
};

Status infer_distribution(const ir::InferContext& context, const std::string& op,
                          const std::vector<std::string_view>& constants,
                          std::vector<ir::Type>& outputs) {
  ANEMONE_RETURN_IF_ERROR(check_vector(context, "shape", kDynamic, op + "_c1"));
  const auto known = context.ints("shape");
  const std::int64_t rank =
      known ? static_cast<std::int64_t>(known->size()) : context.type("shape").shape[0];
  if (rank < 0 || rank > kMaxRank)
    return ir::violated(op + "_c1", "expected a shape of at most {} dimensions", kMaxRank);
  DType dtype = DType::kFp32;
  for (const std::string_view name : constants) {
    ANEMONE_RETURN_IF_ERROR(check_scalars(context, {name}, op + "_c2"));
    if (context.has(name)) dtype = context.type(name).dtype;
  }
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"seed"}, op + "_c2"));
  Shape shape = known ? *known : Shape(static_cast<std::size_t>(rank), kDynamic);
  for (const std::int64_t dim : shape)
    if (known && dim < 0)
      return ir::violated(op + "_c3", "expected dimensions of at least 0, got {}", dim);
  return add_output(outputs, op + "_c3", dtype, std::move(shape));
}

ir::Parameter seed_parameter() {
  return defaulted("seed", kInt32, ir::Literal::int32(-1));
}

ir::OpSchema distribution_schema(std::string_view name,
                                 std::initializer_list<DistributionConstant> constants) {
  ir::OpSchema schema;
  schema.name = name;
  schema.has_side_effects = true;
  schema.parameters = {operand("shape", kInt32)};
  std::vector<std::string_view> names;
  for (const DistributionConstant& constant : constants) names.push_back(constant.name);
  for (const DistributionConstant& constant : constants) {
    // The dtype of its neighbour, if that is there.
    const auto value = [names, fallback = constant.fallback](const ir::InferContext& context) {
      DType dtype = DType::kFp32;
      for (const std::string_view other : names)
        if (context.has(other)) dtype = context.type(other).dtype;
      return ir::Literal::number(fallback, dtype);
    };
    schema.parameters.push_back(defaulted(constant.name, kFloats, value));
    schema.parameters.back().dtype_letter = 'T';
  }
  schema.parameters.push_back(seed_parameter());
  schema.infer = [op = std::string(name), names](const ir::InferContext& context,
                                                 std::vector<ir::Type>& outputs) {
    return infer_distribution(context, op, names, outputs);
  };
  return schema;
}

ir::OpSchema random_bernoulli_schema() {
  return distribution_schema("random_bernoulli", {{"prob", 0.5}});
}

// x [..., classes] -> [..., size], the indices of the drawn classes as floats.
Status infer_categorical(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  if (x.shape.empty() || x.shape.back() == 0)
    return ir::violated("random_categorical_c1", "expected x with at least one class, got {}",
                        to_string(x.shape));
  ANEMONE_RETURN_IF_ERROR(
      choice_parameter(context, "mode", "logits", {"logits", "probs"}, "random_categorical_c2")
          .status());
  Shape out = x.shape;
  ANEMONE_ASSIGN_OR_RETURN(out.back(),
                           integer_parameter(context, "size", 1, 0, "random_categorical_c3"));
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"seed"}, "random_categorical_c3"));
  return add_output(outputs, "random_categorical_c4", x.dtype, std::move(out));
}

ir::OpSchema random_categorical_schema() {
  ir::OpSchema schema;
  schema.name = "random_categorical";
  schema.has_side_effects = true;
  schema.parameters = {operand("x", kFloats), defaulted("mode", kText, ir::Literal::text("logits")),
                       defaulted("size", kInt32, ir::Literal::int32(1)), seed_parameter()};
  schema.infer = infer_categorical;
  return schema;
}

ir::OpSchema random_normal_schema() {
  return distribution_schema("random_normal", {{"mean", 0}, {"stddev", 1}});
}

ir::OpSchema random_uniform_schema() {
  return distribution_schema("random_uniform", {{"low", 0}, {"high", 1}});
}

}  // namespace

std::vector<ir::OpSchema> distribution_schemas() {
  return {random_bernoulli_schema(), random_categorical_schema(), random_normal_schema(),
          random_uniform_schema()};
}

}  // namespace anemone::ops
