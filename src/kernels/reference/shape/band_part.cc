// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {
namespace {

// Keeps columns [row - lower, row + upper] of each row; a negative bound keeps all on that side.
template <typename T>
void keep_band(const TensorView& x, const MutableTensorView& y, std::int64_t lower,
               std::int64_t upper) {
  const std::int64_t columns = x.shape.back();
  const std::int64_t rows = x.shape[x.shape.size() - 2];
  const T* source = x.as<T>().data();
  T* target = y.as<T>().data();
  const std::int64_t lines = columns == 0 ? 0 : x.size() / columns;
  for (std::int64_t line = 0; line < lines; ++line, source += columns, target += columns) {
    const std::int64_t row = line % rows;
    const std::int64_t begin = lower < 0 ? 0 : std::clamp<std::int64_t>(row - lower, 0, columns);
    const std::int64_t end =
        upper < 0 ? columns : std::clamp<std::int64_t>(row + upper + 1, 0, columns);
    for (std::int64_t i = 0; i < columns; ++i) target[i] = i >= begin && i < end ? source[i] : T{};
  }
}

}  // namespace

Status band_part_kernel(const KernelCall& call) {
  const TensorView x = call.input("x");
  return visit_any(x.dtype, [&](auto tag) {
    keep_band<decltype(tag)>(x, call.output(), call.integer("lower", -1),
                             call.integer("upper", -1));
  });
}

}  // namespace anemone::kernels::reference
