// SPDX-License-Identifier: Apache-2.0
// The elementwise operations, one file each.
#pragma once

#include "ir/op_schema.h"

namespace anemone::ops {

ir::OpSchema abs_schema();
ir::OpSchema acos_schema();
ir::OpSchema add_schema();
ir::OpSchema asin_schema();
ir::OpSchema atan_schema();
ir::OpSchema atanh_schema();
ir::OpSchema cast_schema();
ir::OpSchema ceil_schema();
ir::OpSchema clamped_relu_schema();
ir::OpSchema clip_schema();
ir::OpSchema cos_schema();
ir::OpSchema cosh_schema();
ir::OpSchema elu_schema();
ir::OpSchema equal_schema();
ir::OpSchema erf_schema();
ir::OpSchema exp_schema();
ir::OpSchema exp2_schema();
ir::OpSchema floor_schema();
ir::OpSchema floor_div_schema();
ir::OpSchema gelu_schema();
ir::OpSchema greater_schema();
ir::OpSchema greater_equal_schema();
ir::OpSchema identity_schema();
ir::OpSchema inverse_schema();
ir::OpSchema leaky_relu_schema();
ir::OpSchema less_schema();
ir::OpSchema less_equal_schema();
ir::OpSchema linear_activation_schema();
ir::OpSchema log_schema();
ir::OpSchema logical_and_schema();
ir::OpSchema logical_not_schema();
ir::OpSchema logical_or_schema();
ir::OpSchema logical_xor_schema();
ir::OpSchema maximum_schema();
ir::OpSchema minimum_schema();
ir::OpSchema mod_schema();
ir::OpSchema mul_schema();
ir::OpSchema not_equal_schema();
ir::OpSchema pow_schema();
ir::OpSchema prelu_schema();
ir::OpSchema real_div_schema();
ir::OpSchema relu_schema();
ir::OpSchema relu6_schema();
ir::OpSchema round_schema();
ir::OpSchema rsqrt_schema();
ir::OpSchema scaled_tanh_schema();
ir::OpSchema select_schema();
ir::OpSchema sigmoid_schema();
ir::OpSchema sigmoid_hard_schema();
ir::OpSchema sign_schema();
ir::OpSchema silu_schema();
ir::OpSchema sin_schema();
ir::OpSchema sinh_schema();
ir::OpSchema softplus_schema();
ir::OpSchema softplus_parametric_schema();
ir::OpSchema softsign_schema();
ir::OpSchema sqrt_schema();
ir::OpSchema square_schema();
ir::OpSchema sub_schema();
ir::OpSchema tan_schema();
ir::OpSchema tanh_schema();
ir::OpSchema threshold_schema();
ir::OpSchema thresholded_relu_schema();

}  // namespace anemone::ops
