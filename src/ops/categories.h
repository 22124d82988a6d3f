// SPDX-License-Identifier: Apache-2.0
// Each function appends the schemas of the operations of one category folder. registry.cc calls
// them all.
#pragma once

#include <vector>

#include "ir/op_schema.h"

namespace anemone::ops {

void add_elementwise(std::vector<ir::OpSchema>& schemas);
void add_reduction(std::vector<ir::OpSchema>& schemas);
void add_shape(std::vector<ir::OpSchema>& schemas);
void add_linear(std::vector<ir::OpSchema>& schemas);
void add_norm(std::vector<ir::OpSchema>& schemas);
void add_constexpr(std::vector<ir::OpSchema>& schemas);
void add_indexing(std::vector<ir::OpSchema>& schemas);
void add_state(std::vector<ir::OpSchema>& schemas);
void add_control(std::vector<ir::OpSchema>& schemas);
void add_pool(std::vector<ir::OpSchema>& schemas);
void add_image(std::vector<ir::OpSchema>& schemas);
void add_recurrent(std::vector<ir::OpSchema>& schemas);
void add_random(std::vector<ir::OpSchema>& schemas);
void add_quantization(std::vector<ir::OpSchema>& schemas);

}  // namespace anemone::ops
