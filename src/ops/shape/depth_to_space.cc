// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/blocks.h"
#include "ops/shape/shape.h"

namespace anemone::ops {

ir::OpSchema depth_to_space_schema() {
  return channels_to_blocks_schema("depth_to_space", "block_size");
}

}  // namespace anemone::ops
