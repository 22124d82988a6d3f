// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the reduction operations. A family of operations that share code has one
// file and one function for all; each of the others has a file and a function to itself.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> arg_reduce_kernels();
std::vector<KernelEntry> reduce_kernels();

Status argsort_kernel(const KernelCall& call);
Status cumsum_kernel(const KernelCall& call);
Status one_hot_kernel(const KernelCall& call);
Status topk_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
