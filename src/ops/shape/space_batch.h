// SPDX-License-Identifier: Apache-2.0
// space_to_batch and batch_to_space: cells of spatial blocks of [n, c, h, w] become images of their
// own or the other way round. Errors carry `<op>_c1` (rank), `<op>_c2` (block_shape), `<op>_c3`
// (paddings or crops) and `<op>_c4` (sizes that do not fit).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ir/op_schema.h"

namespace anemone::ops {

struct SpatialBlocks {
  std::array<std::int64_t, 2> block;
  std::array<std::array<std::int64_t, 2>, 2> border;  // before and after h, before and after w
};

// Checks x and reads block_shape [2] and `border` [2, 2].
Result<SpatialBlocks> read_blocks(const ir::InferContext& context, const std::string& op,
                                  std::string_view border);

}  // namespace anemone::ops
