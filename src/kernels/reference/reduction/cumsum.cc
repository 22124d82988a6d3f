// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/axis_lines.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status cumsum_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const bool exclusive = call.boolean("exclusive", false);
  const bool reverse = call.boolean("reverse", false);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), x.shape.size()));
  const AxisLines lines(x.shape, static_cast<std::size_t>(axis));
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* data = x.as<T>().data();
    T* target = call.output().as<T>().data();
    lines.parallel(call.threads(), [&](std::int64_t line) {
      const std::int64_t first = lines.start(line, lines.length);
      Computed<T> total{};
      for (std::int64_t i = 0; i < lines.length; ++i) {
        const std::int64_t at = first + (reverse ? lines.length - 1 - i : i) * lines.step;
        const Computed<T> before = total;
        total += load_element(data[at]);
        target[at] = store_element<T>(exclusive ? before : total);
      }
    });
  });
}

}  // namespace anemone::kernels::reference
