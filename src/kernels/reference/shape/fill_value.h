// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

// Every element of the output is the parameter "value", 0 when it is absent.
Status fill_with_value(const KernelCall& call);

}  // namespace anemone::kernels::reference
