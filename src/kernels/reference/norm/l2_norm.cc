// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/linear/dot.h"
#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

// x / sqrt(sum of squares over the last three dimensions + epsilon).
Status l2_norm_kernel(const KernelCall& call) {
  const std::size_t rank = call.input("x").shape.size();
  std::vector<bool> axes(rank, false);
  for (std::size_t i = rank - 3; i < rank; ++i) axes[i] = true;
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-6));
  transform_groups(call, axes, [&](std::span<float> values, std::int64_t) {
    const auto n = static_cast<std::int64_t>(values.size());
    const float scale = 1.0f / std::sqrt(dot(values.data(), values.data(), n) + epsilon);
    for (float& value : values) value *= scale;
  });
  return {};
}

}  // namespace anemone::kernels::reference
