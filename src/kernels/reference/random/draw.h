// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

// Element i of output 0 is f(i, T{}), T its type; on all threads.
template <typename F>
Status draw(const KernelCall& call, F&& f) {
  const MutableTensorView y = call.output();
  return visit_floats(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* target = y.as<T>().data();
    call.threads().parallel_for(y.size(), 2048, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) target[i] = f(static_cast<std::uint64_t>(i), tag);
    });
  });
}

}  // namespace anemone::kernels::reference
