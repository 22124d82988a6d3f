// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/categories.h"
#include "kernels/reference/quantization/quantization.h"

namespace anemone::kernels::reference {

void add_quantization(std::vector<KernelEntry>& kernels) {
  kernels.push_back({"dequantize", dequantize_kernel});
  kernels.push_back({"quantize", quantize_kernel});
}

}  // namespace anemone::kernels::reference
