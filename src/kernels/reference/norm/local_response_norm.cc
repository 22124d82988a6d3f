// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

// x / (k + alpha / size * sum of the squares of `size` channels around)^beta; of an even number,
// the one more lies before, as in PyTorch.
Status local_response_norm_kernel(const KernelCall& call) {
  const std::int64_t size = call.integer("size", 1);
  const auto alpha = static_cast<float>(call.number("alpha", 1e-4));
  const auto beta = static_cast<float>(call.number("beta", 0.75));
  const auto k = static_cast<float>(call.number("k", 1));
  std::vector<bool> axes(call.input("x").shape.size(), false);
  axes[1] = true;
  transform_groups(call, axes, [&](std::span<float> values, std::int64_t) {
    const std::vector<float> x(values.begin(), values.end());
    const auto channels = static_cast<std::int64_t>(x.size());
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t begin = std::max<std::int64_t>(0, c - size / 2);
      const std::int64_t end = std::min(channels, c + (size - 1) / 2 + 1);
      float squares = 0;
      for (std::int64_t i = begin; i < end; ++i)
        squares += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
      values[static_cast<std::size_t>(c)] /=
          std::pow(k + alpha / static_cast<float>(size) * squares, beta);
    }
  });
  return ok_status();
}

}  // namespace anemone::kernels::reference
