// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "kernels/reference/reduction/ordering.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {
namespace {

void store_position(const MutableTensorView& out, std::int64_t at, std::int64_t position) {
  if (out.dtype == DType::kUInt16)
    out.as<std::uint16_t>()[static_cast<std::size_t>(at)] = static_cast<std::uint16_t>(position);
  else
    out.as<std::int32_t>()[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(position);
}

}  // namespace

// Always sorted: with sort = false the order is open.
Status topk_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  const MutableTensorView top = call.output(0);
  const bool ascending = call.boolean("ascending", false);
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t normalized,
                           normalize_axis(call.integer("axis", -1), x.shape.size()));
  const auto axis = static_cast<std::size_t>(normalized);
  const AxisLines lines(x.shape, axis);
  const std::int64_t k = top.shape[axis];
  return visit_any(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using C = Computed<T>;
    if constexpr (!std::is_same_v<T, bool>) {
      const T* data = x.as<T>().data();
      T* values = top.as<T>().data();
      lines.parallel(call.threads(), [&](std::int64_t line) {
        const std::vector<C> all = read_line(data, lines, line);
        std::vector<std::int64_t> order(all.size());
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::partial_sort(order.begin(), order.begin() + k, order.end(),
                          PositionOrder<C>{all, ascending});
        const std::int64_t first = lines.start(line, k);
        for (std::int64_t i = 0; i < k; ++i) {
          const std::int64_t position = order[static_cast<std::size_t>(i)];
          values[first + i * lines.step] =
              store_element<T>(all[static_cast<std::size_t>(position)]);
          if (call.output_count() > 1)
            store_position(call.output(1), first + i * lines.step, position);
        }
      });
    }
  });
}

}  // namespace anemone::kernels::reference
