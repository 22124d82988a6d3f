// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/blocks.h"
#include "ops/shape/shape.h"

namespace anemone::ops {

ir::OpSchema pixel_unshuffle_schema() {
  ir::OpSchema schema = blocks_to_channels_schema("pixel_unshuffle", "downscale_factor");
  schema.since = ir::Opset::kIOS16;
  return schema;
}

}  // namespace anemone::ops
