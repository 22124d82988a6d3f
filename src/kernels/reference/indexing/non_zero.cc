// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"

namespace anemone::kernels::reference {

// Coordinates of the elements that are not 0, row-major: [count, rank].
Status non_zero_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const auto out = call.output().as<std::int32_t>();
  const std::vector<std::int64_t> strides = strides_of(x.shape);
  std::size_t next = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (element_as_double(x, i) == 0) continue;
    for (std::size_t d = 0; d < strides.size(); ++d)
      out[next++] = static_cast<std::int32_t>(i / strides[d] % x.shape[d]);
  }
  return {};
}

}  // namespace anemone::kernels::reference
