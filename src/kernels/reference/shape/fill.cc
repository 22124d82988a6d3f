// SPDX-License-Identifier: Apache-2.0
// Every element of the output is the parameter "value", 0 when it is absent.
#include <algorithm>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {
namespace {

Status fill_with_value(const KernelCall& call) {
  const MutableTensorView y = call.output();
  return visit_any(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const auto target = y.as<T>();
    const T value = call.has("value") ? call.input("value").as<T>()[0] : T{};
    std::fill(target.begin(), target.end(), value);
  });
}

}  // namespace

std::vector<KernelEntry> fill_kernels() {
  return {{"fill", fill_with_value}, {"fill_like", fill_with_value}};
}

}  // namespace anemone::kernels::reference
