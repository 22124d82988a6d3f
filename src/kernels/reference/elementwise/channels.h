// SPDX-License-Identifier: Apache-2.0
// y[n, c, ...] = f(x[n, c, ...], c), for fp16 and fp32.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

template <typename F>
Status map_channels(const KernelCall& call, F&& f) {
  const TensorView x = call.input("x");
  const MutableTensorView y = call.output();
  if (x.size() == 0) return ok_status();
  const std::int64_t channels = x.shape[1];
  const std::int64_t spatial = x.size() / (x.shape[0] * channels);
  return visit_floats(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const T* source = x.as<T>().data();
    T* target = y.as<T>().data();
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / spatial);
    call.threads().parallel_for(
        x.shape[0] * channels, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t line = begin; line < end; ++line)
            for (std::int64_t i = line * spatial; i < (line + 1) * spatial; ++i)
              target[i] = store_element<T>(
                  f(load_element(source[i]), static_cast<std::size_t>(line % channels)));
        });
  });
}

}  // namespace anemone::kernels::reference
