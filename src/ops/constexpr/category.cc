// SPDX-License-Identifier: Apache-2.0
#include "ops/categories.h"
#include "ops/constexpr/constexpr.h"

namespace anemone::ops {

void add_constexpr(std::vector<ir::OpSchema>& schemas) {
  schemas.push_back(constexpr_affine_dequantize_schema());
  schemas.push_back(constexpr_blockwise_shift_scale_schema());
  schemas.push_back(constexpr_cast_schema());
  schemas.push_back(constexpr_lut_to_dense_schema());
  schemas.push_back(constexpr_lut_to_sparse_schema());
  schemas.push_back(constexpr_sparse_blockwise_shift_scale_schema());
  schemas.push_back(constexpr_sparse_to_dense_schema());
}

}  // namespace anemone::ops
