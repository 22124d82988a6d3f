// SPDX-License-Identifier: Apache-2.0
// The three poolings differ by name and number of spatial axes alone. Errors carry `<op>_c1` (x),
// `<op>_c2` (kernel_sizes), `<op>_c4` (ceil_mode), `<op>_c5` to `<op>_c7` (window, see spatial.h)
// and `<op>_c8` (size of the result).
#include <algorithm>
#include <string>

#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/common/spatial.h"
#include "ops/pool/pool.h"

namespace anemone::ops {
namespace {

// ceil_mode keeps a last window that is not full, if it starts before the padding after x; the
// formula is that of coremltools, which asks the latter only where there is padding.
std::int64_t pool_count(const Window& window, std::size_t i, std::int64_t in, bool is_ceil) {
  if (!is_ceil || in == kDynamic) return window_count(window, i, in);
  const std::int64_t pad = window.pad[2 * i];  // the same on both sides
  const std::int64_t stride = window.strides[i];
  const std::int64_t room = in + 2 * pad - window.kernel[i];
  if (room + stride - 1 < 0) return 0;
  const std::int64_t count = (room + stride - 1) / stride + 1;
  return pad > 0 && (count - 1) * stride >= in + pad ? count - 1 : count;
}

Status check_ceil(const Window& window, std::string_view constraint) {
  const std::size_t spatial = window.kernel.size();
  bool is_symmetric = true;
  for (std::size_t i = 0; i < spatial; ++i)
    is_symmetric = is_symmetric && window.pad[2 * i] == window.pad[2 * i + 1];
  if (spatial > 2 || window.is_same || !is_symmetric)
    return ir::violated(
        constraint,
        "ceil_mode needs one or two spatial axes and the same valid or custom pad on both sides");
  return ok_status();
}

Status infer_pooling(const ir::InferContext& context, const std::string& op,
                     std::size_t max_spatial, std::vector<ir::Type>& outputs) {
  const ir::Type& x = context.type("x");
  const std::size_t rank = x.shape.size();
  if (rank < 3 || rank > 2 + max_spatial)
    return ir::violated(op + "_c1", "expected x of rank 3 to {}, got {}", 2 + max_spatial,
                        to_string(x.shape));
  ANEMONE_RETURN_IF_ERROR(
      check_vector(context, "kernel_sizes", static_cast<std::int64_t>(rank - 2), op + "_c2"));
  auto kernel = context.ints("kernel_sizes");
  if (!kernel || std::any_of(kernel->begin(), kernel->end(), [](auto size) { return size < 1; }))
    return ir::violated(op + "_c2", "expected known kernel_sizes of at least 1");
  ANEMONE_RETURN_IF_ERROR(check_scalars(context, {"ceil_mode"}, op + "_c4"));
  const bool is_ceil = context.boolean("ceil_mode").value_or(false);
  ANEMONE_ASSIGN_OR_RETURN(const auto window, read_window(context, op, std::move(*kernel)));
  Shape out(x.shape.begin(), x.shape.begin() + 2);
  out.resize(rank, kDynamic);
  if (!window) return add_output(outputs, op + "_c8", x.dtype, std::move(out));
  if (is_ceil) ANEMONE_RETURN_IF_ERROR(check_ceil(*window, op + "_c4"));
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    out[i + 2] = pool_count(*window, i, x.shape[i + 2], is_ceil);
    if (!window->is_same && out[i + 2] != kDynamic && out[i + 2] < 1)
      return ir::violated(op + "_c7", "the window does not fit into x {}", to_string(x.shape));
  }
  return add_output(outputs, op + "_c8", x.dtype, std::move(out));
}

ir::OpSchema pooling_schema(std::string_view name, std::size_t max_spatial) {
  ir::OpSchema schema;
  schema.name = name;
  schema.parameters = {
      operand("x", kFloats),
      constant("kernel_sizes", kInt32),
      defaulted("strides", kInt32, per_spatial_axis(1, 1)),
      constant("pad_type", kText),
      defaulted("pad", kInt32, per_spatial_axis(0, 2)),
      defaulted("ceil_mode", kBool, ir::Literal::boolean(false)),
  };
  schema.infer = [op = std::string(name), max_spatial](const ir::InferContext& context,
                                                       std::vector<ir::Type>& outputs) {
    return infer_pooling(context, op, max_spatial, outputs);
  };
  return schema;
}

ir::OpSchema avg_pool_schema() {
  ir::OpSchema schema = pooling_schema("avg_pool", 3);
  schema.parameters.push_back(
      defaulted("exclude_padding_from_average", kBool, ir::Literal::boolean(false)));
  return schema;
}

ir::OpSchema l2_pool_schema() {
  return pooling_schema("l2_pool", 2);
}

ir::OpSchema max_pool_schema() {
  return pooling_schema("max_pool", 3);
}

}  // namespace

std::vector<ir::OpSchema> pooling_schemas() {
  return {avg_pool_schema(), l2_pool_schema(), max_pool_schema()};
}

}  // namespace anemone::ops
