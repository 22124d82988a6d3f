// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta with given statistics, by channel (axis 1).
Status batch_norm_kernel(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  std::vector<bool> axes(shape.size(), true);
  axes[0] = axes[1] = false;
  const std::vector<float> mean = to_floats(call.input("mean"));
  const std::vector<float> variance = to_floats(call.input("variance"));
  const std::vector<float> gamma = optional_floats(call, "gamma");
  const std::vector<float> beta = optional_floats(call, "beta");
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-5));
  transform_groups(call, axes, [&](std::span<float> values, std::int64_t group) {
    const auto channel = static_cast<std::size_t>(group % shape[1]);
    const float scale =
        (gamma.empty() ? 1.0f : gamma[channel]) / std::sqrt(variance[channel] + epsilon);
    const float shift = beta.empty() ? 0.0f : beta[channel];
    for (float& value : values) value = (value - mean[channel]) * scale + shift;
  });
  return {};
}

}  // namespace anemone::kernels::reference
