// SPDX-License-Identifier: Apache-2.0
#include "ops/common/infer.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

// updates: indices.shape[:-1] + data.shape[indices.shape[-1]:]
Status infer_scatter_nd(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& data = context.type("data");
  const Shape& indices = context.type("indices").shape;
  if (indices.empty() || indices.back() == kDynamic ||
      indices.back() > static_cast<std::int64_t>(data.shape.size()))
    return ir::violated("scatter_nd_c1",
                        "expected indices whose last dimension is at most {}, got {}",
                        data.shape.size(), to_string(indices));
  ANEMONE_RETURN_IF_ERROR(check_mode(context, "scatter_nd_c2"));
  Shape want(indices.begin(), indices.end() - 1);
  want.insert(want.end(), data.shape.begin() + indices.back(), data.shape.end());
  ANEMONE_RETURN_IF_ERROR(check_updates(context, want, "scatter_nd_c3"));
  outputs.push_back(data);
  return {};
}

}  // namespace

ir::OpSchema scatter_nd_schema() {
  ir::OpSchema schema;
  schema.name = "scatter_nd";
  schema.parameters = scatter_operands();
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_scatter_nd;
  return schema;
}

}  // namespace anemone::ops
