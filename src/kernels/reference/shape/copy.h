// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

// The elements of x unchanged in the output, in the same order: operations that only rename the
// shape.
Status copy_x(const KernelCall& call);

}  // namespace anemone::kernels::reference
