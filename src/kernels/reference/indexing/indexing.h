// SPDX-License-Identifier: Apache-2.0
// Kernels of the category indexing. An index that lies outside is an error whatever
// `validate_indices` says: Core ML leaves the result undefined then, and a silent wrong value helps
// nobody. A negative index counts from the end, as up to iOS16, unless validate_indices asks for
// indices of at least 0.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> gather_kernels();
std::vector<KernelEntry> scatter_kernels();

Status non_zero_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
