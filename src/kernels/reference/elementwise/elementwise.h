// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the elementwise operations. A family of operations that share code has
// one file and one function for all; each of the others has a file and a function to itself.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> activation_kernels();
std::vector<KernelEntry> binary_kernels();
std::vector<KernelEntry> comparison_kernels();
std::vector<KernelEntry> unary_kernels();

Status cast_kernel(const KernelCall& call);
Status clip_kernel(const KernelCall& call);
Status gelu_kernel(const KernelCall& call);
Status select_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
