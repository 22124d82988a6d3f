// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the pooling operations. They sum in fp32, in the order of the window.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> pooling_kernels();

}  // namespace anemone::kernels::reference
