// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the elementwise operations, one file each.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status abs_kernel(const KernelCall& call);
Status acos_kernel(const KernelCall& call);
Status add_kernel(const KernelCall& call);
Status asin_kernel(const KernelCall& call);
Status atan_kernel(const KernelCall& call);
Status atanh_kernel(const KernelCall& call);
Status cast_kernel(const KernelCall& call);
Status ceil_kernel(const KernelCall& call);
Status clamped_relu_kernel(const KernelCall& call);
Status clip_kernel(const KernelCall& call);
Status cos_kernel(const KernelCall& call);
Status cosh_kernel(const KernelCall& call);
Status elu_kernel(const KernelCall& call);
Status equal_kernel(const KernelCall& call);
Status erf_kernel(const KernelCall& call);
Status exp_kernel(const KernelCall& call);
Status exp2_kernel(const KernelCall& call);
Status floor_kernel(const KernelCall& call);
Status floor_div_kernel(const KernelCall& call);
Status gelu_kernel(const KernelCall& call);
Status greater_kernel(const KernelCall& call);
Status greater_equal_kernel(const KernelCall& call);
Status identity_kernel(const KernelCall& call);
Status inverse_kernel(const KernelCall& call);
Status leaky_relu_kernel(const KernelCall& call);
Status less_kernel(const KernelCall& call);
Status less_equal_kernel(const KernelCall& call);
Status linear_activation_kernel(const KernelCall& call);
Status log_kernel(const KernelCall& call);
Status logical_and_kernel(const KernelCall& call);
Status logical_not_kernel(const KernelCall& call);
Status logical_or_kernel(const KernelCall& call);
Status logical_xor_kernel(const KernelCall& call);
Status maximum_kernel(const KernelCall& call);
Status minimum_kernel(const KernelCall& call);
Status mod_kernel(const KernelCall& call);
Status mul_kernel(const KernelCall& call);
Status not_equal_kernel(const KernelCall& call);
Status pow_kernel(const KernelCall& call);
Status prelu_kernel(const KernelCall& call);
Status real_div_kernel(const KernelCall& call);
Status relu_kernel(const KernelCall& call);
Status relu6_kernel(const KernelCall& call);
Status round_kernel(const KernelCall& call);
Status rsqrt_kernel(const KernelCall& call);
Status scaled_tanh_kernel(const KernelCall& call);
Status select_kernel(const KernelCall& call);
Status sigmoid_kernel(const KernelCall& call);
Status sigmoid_hard_kernel(const KernelCall& call);
Status sign_kernel(const KernelCall& call);
Status silu_kernel(const KernelCall& call);
Status sin_kernel(const KernelCall& call);
Status sinh_kernel(const KernelCall& call);
Status softplus_kernel(const KernelCall& call);
Status softplus_parametric_kernel(const KernelCall& call);
Status softsign_kernel(const KernelCall& call);
Status sqrt_kernel(const KernelCall& call);
Status square_kernel(const KernelCall& call);
Status sub_kernel(const KernelCall& call);
Status tan_kernel(const KernelCall& call);
Status tanh_kernel(const KernelCall& call);
Status threshold_kernel(const KernelCall& call);
Status thresholded_relu_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
