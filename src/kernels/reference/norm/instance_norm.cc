// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

// Statistics of each channel of each image; gamma and beta by channel.
Status instance_norm_kernel(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  std::vector<bool> axes(shape.size(), true);
  axes[0] = axes[1] = false;
  const std::vector<float> gamma = optional_floats(call, "gamma");
  const std::vector<float> beta = optional_floats(call, "beta");
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-5));
  transform_groups(call, axes, [&](std::span<float> values, std::int64_t group) {
    standardize(values, epsilon);
    const auto channel = static_cast<std::size_t>(group % shape[1]);
    const float scale = gamma.empty() ? 1.0f : gamma[channel];
    const float shift = beta.empty() ? 0.0f : beta[channel];
    for (float& value : values) value = value * scale + shift;
  });
  return {};
}

}  // namespace anemone::kernels::reference
