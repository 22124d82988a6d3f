// SPDX-License-Identifier: Apache-2.0
// Kernels of the category indexing. An index that lies outside is an error whatever
// `validate_indices` says: Core ML leaves the result undefined then, and a silent wrong value helps
// nobody. A negative index counts from the end, as up to iOS16, unless validate_indices asks for
// indices of at least 0.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status gather_kernel(const KernelCall& call);
Status gather_along_axis_kernel(const KernelCall& call);
Status gather_nd_kernel(const KernelCall& call);
Status non_zero_kernel(const KernelCall& call);
Status scatter_kernel(const KernelCall& call);
Status scatter_along_axis_kernel(const KernelCall& call);
Status scatter_nd_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
