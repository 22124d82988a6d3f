// SPDX-License-Identifier: Apache-2.0
// Kernels of the category quantization.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status dequantize_kernel(const KernelCall& call);
Status quantize_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
