// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/fill_value.h"

#include <algorithm>

#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

Status fill_with_value(const KernelCall& call) {
  const MutableTensorView y = call.output();
  return visit_any(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto target = y.as<T>();
    const T value = call.has("value") ? call.input("value").as<T>()[0] : T{};
    std::fill(target.begin(), target.end(), value);
  });
}

}  // namespace anemone::kernels::reference
