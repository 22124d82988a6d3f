// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

// Computes start + i * step instead of a running sum, so that rounding errors do not add up.
Status range_1d_kernel(const KernelCall& call) {
  const MutableTensorView y = call.output();
  return visit_numeric(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    using C = std::conditional_t<std::is_same_v<T, std::int32_t>, std::int64_t, double>;
    const C start = static_cast<C>(call.number("start", 0));
    const C step = static_cast<C>(call.number("step", 1));
    const auto target = y.as<T>();
    for (std::size_t i = 0; i < target.size(); ++i)
      target[i] = store_element<T>(start + static_cast<C>(i) * step);
  });
}

}  // namespace anemone::kernels::reference
