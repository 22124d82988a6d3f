// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/shape.h"

#include <algorithm>
#include <limits>

namespace anemone::kernels::reference {

Status shape_kernel(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  const auto y = call.output().as<std::int32_t>();
  for (std::size_t i = 0; i < shape.size(); ++i)
    y[i] = static_cast<std::int32_t>(
        std::min<std::int64_t>(shape[i], std::numeric_limits<std::int32_t>::max()));
  return ok_status();
}

}  // namespace anemone::kernels::reference
