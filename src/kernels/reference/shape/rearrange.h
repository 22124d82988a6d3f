// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "kernels/reference/common/strided_copy.h"

namespace anemone::kernels::reference {

// Output 0 in its own order, seen as `dims` (whose product is its size): element i of it is the
// element of x at `offset` plus the sum of i[d] * from[d], in elements.
Status rearrange(const KernelCall& call, const Shape& dims, const Strides& from,
                 std::int64_t offset = 0);

}  // namespace anemone::kernels::reference
