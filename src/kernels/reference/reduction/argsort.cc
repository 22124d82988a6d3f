// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernels/reference/reduction/ordering.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

Status argsort_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  std::int32_t* target = call.output().as<std::int32_t>().data();
  const bool ascending = call.boolean("ascending", false);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", -1), x.shape.size()));
  const AxisLines lines(x.shape, static_cast<std::size_t>(axis));
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* data = x.as<T>().data();
    lines.parallel(call.threads(), [&](std::int64_t line) {
      const auto values = read_line(data, lines, line);
      std::vector<std::int64_t> order(values.size());
      std::iota(order.begin(), order.end(), std::int64_t{0});
      std::sort(order.begin(), order.end(), PositionOrder<Computed<T>>{values, ascending});
      std::int32_t* out = target + lines.start(line, lines.length);
      for (const std::int64_t position : order) {
        *out = static_cast<std::int32_t>(position);
        out += lines.step;
      }
    });
  });
}

}  // namespace anemone::kernels::reference
