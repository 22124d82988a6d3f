// SPDX-License-Identifier: Apache-2.0
// The schemas of the shape operations. A family of operations that share code has one file and one
// function for all; each of the others has a file and a function to itself.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

std::vector<ir::OpSchema> block_schemas();
std::vector<ir::OpSchema> fill_schemas();
std::vector<ir::OpSchema> join_schemas();
std::vector<ir::OpSchema> slice_schemas();
std::vector<ir::OpSchema> space_batch_schemas();

ir::OpSchema band_part_schema();
ir::OpSchema crop_schema();
ir::OpSchema expand_dims_schema();
ir::OpSchema flatten2d_schema();
ir::OpSchema pad_schema();
ir::OpSchema range_1d_schema();
ir::OpSchema reshape_schema();
ir::OpSchema reshape_like_schema();
ir::OpSchema reverse_schema();
ir::OpSchema reverse_sequence_schema();
ir::OpSchema shape_schema();
ir::OpSchema sliding_windows_schema();
ir::OpSchema split_schema();
ir::OpSchema squeeze_schema();
ir::OpSchema tile_schema();
ir::OpSchema transpose_schema();

}  // namespace anemone::ops
