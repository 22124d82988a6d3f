// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/quantization/quantization.h"

namespace anemone::kernels::reference {

void add_quantization(std::vector<KernelEntry>& kernels) {
  kernels.insert(kernels.end(), {{"dequantize", dequantize_kernel}, {"quantize", quantize_kernel}});
}

}  // namespace anemone::kernels::reference
