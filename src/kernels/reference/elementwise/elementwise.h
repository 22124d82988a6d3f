// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the elementwise operations: a table per family, and a file for each
// operation with code of its own.
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
