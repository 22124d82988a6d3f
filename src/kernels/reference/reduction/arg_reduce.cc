// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/ordering.h"
#include "kernels/reference/reduction/reduction.h"

namespace anemone::kernels::reference {
namespace {

template <typename T, typename P>
void find_extremes(const TensorView& x, const MutableTensorView& y, const AxisLines& lines,
                   bool largest, ThreadPool& threads) {
  const T* data = x.as<T>().data();
  P* target = y.as<P>().data();
  lines.parallel(threads, [&](std::int64_t line) {
    const T* source = data + lines.start(line, lines.length);
    auto best = load_element(source[0]);
    std::int64_t position = 0;
    for (std::int64_t i = 1; i < lines.length; ++i) {
      const auto value = load_element(source[i * lines.step]);
      // NaN wins in both directions, as in numpy.
      const bool is_better = largest
                                 ? comes_before(best, value)
                                 : best == best && (value != value || comes_before(value, best));
      if (!is_better) continue;
      best = value;
      position = i;
    }
    target[line] = static_cast<P>(position);
  });
}

// The position of the first extreme element along "axis".
Status first_extreme(const KernelCall& call, bool largest) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", -1), x.shape.size()));
  const AxisLines lines(x.shape, static_cast<std::size_t>(axis));
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (y.dtype == DType::kUInt16)
      find_extremes<T, std::uint16_t>(x, y, lines, largest, call.threads());
    else
      find_extremes<T, std::int32_t>(x, y, lines, largest, call.threads());
  });
}

}  // namespace

std::vector<KernelEntry> arg_reduce_kernels() {
  return {{"reduce_argmax", [](const KernelCall& call) { return first_extreme(call, true); }},
          {"reduce_argmin", [](const KernelCall& call) { return first_extreme(call, false); }}};
}

}  // namespace anemone::kernels::reference
