// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/space_batch.h"

#include <algorithm>

#include "ops/common/infer.h"

namespace anemone::ops {

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

}  // namespace anemone::ops
