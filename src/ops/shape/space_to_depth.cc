// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/blocks.h"
#include "ops/shape/shape.h"

namespace anemone::ops {

ir::OpSchema space_to_depth_schema() {
  return blocks_to_channels_schema("space_to_depth", "block_size");
}

}  // namespace anemone::ops
