// SPDX-License-Identifier: Apache-2.0
// Kernels of the category image. Positions are computed in double, so that a grid point that is an
// element is exactly that element; sums are rounded once.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> resizing_kernels();

Status affine_kernel(const KernelCall& call);
Status crop_resize_kernel(const KernelCall& call);
Status non_maximum_suppression_kernel(const KernelCall& call);
Status resample_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
