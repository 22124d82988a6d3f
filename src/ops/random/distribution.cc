// SPDX-License-Identifier: Apache-2.0
#include "ops/random/distribution.h"

#include <string>
#include <vector>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"

namespace anemone::ops {
namespace {

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

}  // namespace

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

}  // namespace anemone::ops
