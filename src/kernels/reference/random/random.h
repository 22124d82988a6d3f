// SPDX-License-Identifier: Apache-2.0
// Kernels of the category random, all over the generator of philox.h.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> distribution_kernels();

Status random_categorical_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
