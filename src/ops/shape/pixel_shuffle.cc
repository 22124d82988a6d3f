// SPDX-License-Identifier: Apache-2.0
#include "ops/shape/blocks.h"
#include "ops/shape/shape.h"

namespace anemone::ops {

ir::OpSchema pixel_shuffle_schema() {
  return channels_to_blocks_schema("pixel_shuffle", "upscale_factor");
}

}  // namespace anemone::ops
