// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/common/infer.h"
#include "ops/indexing/indexing.h"

namespace anemone::ops {
namespace {

// indices.shape[:-1] + x.shape[batch_dims + indices.shape[-1]:]
Status infer_gather_nd(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const Shape& indices = context.type("indices").shape;
  if (indices.empty() || indices.back() == kDynamic)
    return ir::violated("gather_nd_c1", "expected indices with a known last dimension, got {}",
                        to_string(indices));
  ANEMONE_ASSIGN_OR_RETURN(
      const std::size_t batch_dims,
      checked_batch_dims(context, std::min(x.shape.size(), indices.size() - 1), "gather_nd_c2"));
  const auto rest = static_cast<std::int64_t>(x.shape.size() - batch_dims);
  if (indices.back() > rest)
    return ir::violated("gather_nd_c1", "expected at most {} coordinates for x {}, got {}", rest,
                        to_string(x.shape), indices.back());
  ANEMONE_RETURN_IF_ERROR(check_gather_dtypes(context, "gather_nd_c3"));
  Shape out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(batch_dims) + indices.back(),
             x.shape.end());
  return add_output(outputs, "gather_nd_c5", x.dtype, std::move(out));
}

}  // namespace

ir::OpSchema gather_nd_schema() {
  ir::OpSchema schema;
  schema.name = "gather_nd";
  schema.parameters = gather_operands();
  schema.parameters.push_back(batch_dims());
  schema.parameters.push_back(validate_indices());
  schema.infer = infer_gather_nd;
  return schema;
}

}  // namespace anemone::ops
