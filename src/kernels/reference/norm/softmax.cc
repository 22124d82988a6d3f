// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

Status softmax_kernel(const KernelCall& call) {
  const std::int64_t axis = call.integer("axis", -1);
  ANEMONE_ASSIGN_OR_RETURN(const auto axes, mark_axes({&axis, 1}, call.input("x").shape.size()));
  transform_groups(call, axes, [](std::span<float> values, std::int64_t) { softmax(values); });
  return {};
}

}  // namespace anemone::kernels::reference
