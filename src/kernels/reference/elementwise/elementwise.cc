// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/elementwise/elementwise.h"

#include "kernels/reference/categories.h"

namespace anemone::kernels::reference {

void add_elementwise(std::vector<KernelEntry>& kernels) {
  static constexpr KernelEntry kEntries[] = {
      {"abs", abs_kernel},
      {"add", add_kernel},
      {"cast", cast_kernel},
      {"ceil", ceil_kernel},
      {"clip", clip_kernel},
      {"cos", cos_kernel},
      {"elu", elu_kernel},
      {"equal", equal_kernel},
      {"erf", erf_kernel},
      {"exp", exp_kernel},
      {"exp2", exp2_kernel},
      {"floor", floor_kernel},
      {"floor_div", floor_div_kernel},
      {"gelu", gelu_kernel},
      {"greater", greater_kernel},
      {"greater_equal", greater_equal_kernel},
      {"identity", identity_kernel},
      {"inverse", inverse_kernel},
      {"leaky_relu", leaky_relu_kernel},
      {"less", less_kernel},
      {"less_equal", less_equal_kernel},
      {"log", log_kernel},
      {"logical_and", logical_and_kernel},
      {"logical_not", logical_not_kernel},
      {"logical_or", logical_or_kernel},
      {"logical_xor", logical_xor_kernel},
      {"maximum", maximum_kernel},
      {"minimum", minimum_kernel},
      {"mod", mod_kernel},
      {"mul", mul_kernel},
      {"not_equal", not_equal_kernel},
      {"pow", pow_kernel},
      {"real_div", real_div_kernel},
      {"relu", relu_kernel},
      {"relu6", relu6_kernel},
      {"round", round_kernel},
      {"rsqrt", rsqrt_kernel},
      {"select", select_kernel},
      {"sigmoid", sigmoid_kernel},
      {"sigmoid_hard", sigmoid_hard_kernel},
      {"sign", sign_kernel},
      {"silu", silu_kernel},
      {"sin", sin_kernel},
      {"softplus", softplus_kernel},
      {"softsign", softsign_kernel},
      {"sqrt", sqrt_kernel},
      {"square", square_kernel},
      {"sub", sub_kernel},
      {"tanh", tanh_kernel},
      {"threshold", threshold_kernel},
      {"thresholded_relu", thresholded_relu_kernel},
  };
  kernels.insert(kernels.end(), std::begin(kEntries), std::end(kEntries));
}

}  // namespace anemone::kernels::reference
