// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

void add_constexpr(std::vector<ir::OpSchema>& schemas) {
  for (auto make :
       {constexpr_affine_dequantize_schema, constexpr_blockwise_shift_scale_schema,
        constexpr_cast_schema, constexpr_lut_to_dense_schema, constexpr_lut_to_sparse_schema,
        constexpr_sparse_blockwise_shift_scale_schema, constexpr_sparse_to_dense_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
