// SPDX-License-Identifier: Apache-2.0
// Kernels of the category random, all over the generator of philox.h.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status random_bernoulli_kernel(const KernelCall& call);
Status random_categorical_kernel(const KernelCall& call);
Status random_normal_kernel(const KernelCall& call);
Status random_uniform_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
