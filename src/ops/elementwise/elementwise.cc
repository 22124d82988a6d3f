// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.h"

#include "ops/categories.h"

namespace anemone::ops {

void add_elementwise(std::vector<ir::OpSchema>& schemas) {
  for (auto make : {abs_schema,           add_schema,         cast_schema,
                    ceil_schema,          clip_schema,        cos_schema,
                    elu_schema,           equal_schema,       erf_schema,
                    exp_schema,           exp2_schema,        floor_schema,
                    floor_div_schema,     gelu_schema,        greater_schema,
                    greater_equal_schema, identity_schema,    inverse_schema,
                    leaky_relu_schema,    less_schema,        less_equal_schema,
                    log_schema,           logical_and_schema, logical_not_schema,
                    logical_or_schema,    logical_xor_schema, maximum_schema,
                    minimum_schema,       mod_schema,         mul_schema,
                    not_equal_schema,     pow_schema,         real_div_schema,
                    relu_schema,          relu6_schema,       round_schema,
                    rsqrt_schema,         select_schema,      sigmoid_schema,
                    sigmoid_hard_schema,  sign_schema,        silu_schema,
                    sin_schema,           softplus_schema,    softsign_schema,
                    sqrt_schema,          square_schema,      sub_schema,
                    tanh_schema,          threshold_schema,   thresholded_relu_schema})
    schemas.push_back(make());
}

}  // namespace anemone::ops
