// SPDX-License-Identifier: Apache-2.0
// space_to_batch and batch_to_space: cells of spatial blocks of [n, c, h, w] become images of their
// own or the other way round. Errors carry `<op>_c1` (rank), `<op>_c2` (block_shape), `<op>_c3`
// (paddings or crops) and `<op>_c4` (sizes that do not fit).
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/op_schema.h"
#include "ops/common/dtypes.h"
#include "ops/common/infer.h"
#include "ops/common/params.h"
#include "ops/shape/shape.h"

namespace anemone::ops {
namespace {

struct SpatialBlocks {
  std::array<std::int64_t, 2> block;
  std::array<std::array<std::int64_t, 2>, 2> border;  // before and after h, before and after w
};

Result<SpatialBlocks> read_blocks(const ir::InferContext& context, const std::string& op,
                                  std::string_view border) {
  const Shape& x = context.type("x").shape;
  if (x.size() != 4) return ir::violated(op + "_c1", "expected x of rank 4, got {}", to_string(x));
  ANEMONE_ASSIGN_OR_RETURN(const auto block,
                           ints_parameter(context, "block_shape", 2, 1, op + "_c2"));
  const Shape& shape = context.type(border).shape;
  const auto amounts = context.ints(border);
  if (shape != Shape{2, 2} || !amounts ||
      std::any_of(amounts->begin(), amounts->end(), [](auto amount) { return amount < 0; }))
    return ir::violated(op + "_c3",
                        "expected {} to be known numbers of at least 0 of the shape "
                        "[2, 2], got {}",
                        border, to_string(shape));
  const auto& a = *amounts;
  return SpatialBlocks{{block[0], block[1]}, {{{a[0], a[1]}, {a[2], a[3]}}}};
}

Status infer_batch_to_space(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const std::string constraint = "batch_to_space_c4";
  ANEMONE_ASSIGN_OR_RETURN(const SpatialBlocks blocks,
                           read_blocks(context, "batch_to_space", "crops"));
  const ir::Type& x = context.type("x");
  Shape out = x.shape;
  for (std::size_t i = 0; i < 2; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(out[0], divided_dim(out[0], blocks.block[i], constraint));
    ANEMONE_ASSIGN_OR_RETURN(out[2 + i], scaled_dim(out[2 + i], blocks.block[i], constraint));
    if (out[2 + i] == kDynamic) continue;
    out[2 + i] -= blocks.border[i][0] + blocks.border[i][1];
    if (out[2 + i] < 0)
      return ir::violated(constraint, "expected crops that leave something of x {}",
                          to_string(x.shape));
  }
  return add_output(outputs, constraint, x.dtype, std::move(out));
}

Status infer_space_to_batch(const ir::InferContext& context, std::vector<ir::Type>& outputs) {
  const std::string constraint = "space_to_batch_c4";
  ANEMONE_ASSIGN_OR_RETURN(const SpatialBlocks blocks,
                           read_blocks(context, "space_to_batch", "paddings"));
  const ir::Type& x = context.type("x");
  Shape out = x.shape;
  for (std::size_t i = 0; i < 2; ++i) {
    ANEMONE_ASSIGN_OR_RETURN(out[0], scaled_dim(out[0], blocks.block[i], constraint));
    if (out[2 + i] == kDynamic) continue;
    ANEMONE_ASSIGN_OR_RETURN(out[2 + i],
                             divided_dim(out[2 + i] + blocks.border[i][0] + blocks.border[i][1],
                                         blocks.block[i], constraint));
  }
  return add_output(outputs, constraint, x.dtype, std::move(out));
}

ir::OpSchema block_schema(std::string_view name, std::string_view border,
                          Status (*infer)(const ir::InferContext&, std::vector<ir::Type>&)) {
  return {.name = name,
          .parameters = {operand("x", kFloats), constant("block_shape", kInt32),
                         constant(border, kInt32)},
          .infer = infer};
}

}  // namespace

std::vector<ir::OpSchema> space_batch_schemas() {
  return {block_schema("batch_to_space", "crops", infer_batch_to_space),
          block_schema("space_to_batch", "paddings", infer_space_to_batch)};
}

}  // namespace anemone::ops
