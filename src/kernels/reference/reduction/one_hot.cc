// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/axis_lines.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {

// An index outside of the range gives a line of off_value.
Status one_hot_kernel(const KernelCall& call) {
  const TensorView indices = call.input("indices");
  const MutableTensorView y = call.output();
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", -1), y.shape.size()));
  const AxisLines lines(y.shape, static_cast<std::size_t>(axis));
  const std::int32_t* wanted = indices.as<std::int32_t>().data();
  return visit_any(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T on = call.has("on_value") ? call.input("on_value").as<T>()[0] : store_element<T>(1);
    const T off = call.has("off_value") ? call.input("off_value").as<T>()[0] : T{};
    T* target = y.as<T>().data();
    lines.parallel(call.threads(), [&](std::int64_t line) {
      T* out = target + lines.start(line, lines.length);
      for (std::int64_t i = 0; i < lines.length; ++i)
        out[i * lines.step] = i == wanted[line] ? on : off;
    });
  });
}

}  // namespace anemone::kernels::reference
