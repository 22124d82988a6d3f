// SPDX-License-Identifier: Apache-2.0
// Kernels of the category image. Positions are computed in double, so that a grid point that is an
// element is exactly that element; sums are rounded once.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status affine_kernel(const KernelCall& call);
Status crop_resize_kernel(const KernelCall& call);
Status non_maximum_suppression_kernel(const KernelCall& call);
Status resample_kernel(const KernelCall& call);
Status resize_kernel(const KernelCall& call);
Status resize_bilinear_kernel(const KernelCall& call);
Status resize_nearest_neighbor_kernel(const KernelCall& call);
Status upsample_bilinear_kernel(const KernelCall& call);
Status upsample_nearest_neighbor_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
