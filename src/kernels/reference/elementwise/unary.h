// SPDX-License-Identifier: Apache-2.0
// y[i] = f(x[i]). f takes and returns the type that load_element() gives.
#pragma once

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"

namespace anemone::kernels::reference {

// Elements of In to elements of Out, on all threads.
template <typename In, typename Out, typename F>
void map_elements(const TensorView& x, const MutableTensorView& y, ThreadPool& threads, F&& f) {
  constexpr std::int64_t kGrain = 16384;
  const In* source = x.as<In>().data();
  Out* target = y.as<Out>().data();
  threads.parallel_for(x.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      target[i] = store_element<Out>(f(load_element(source[i])));
  });
}

// Applies f to fp16 or fp32.
template <typename F>
Status unary_float(const KernelCall& call, F&& f) {
  const TensorView x = call.input("x");
  return visit_floats(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    map_elements<T, T>(x, call.output(), call.threads(), f);
  });
}

// Applies f to fp16, fp32 or int32: f is called with a float or an int64.
template <typename F>
Status unary_numeric(const KernelCall& call, F&& f) {
  const TensorView x = call.input("x");
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    map_elements<T, T>(x, call.output(), call.threads(), f);
  });
}

// The kernel of an operation y = f(x) for fp16 and fp32. F has no state.
template <typename F>
KernelEntry of_float(std::string_view op, F) {
  return {op, [](const KernelCall& call) { return unary_float(call, F{}); }};
}

}  // namespace anemone::kernels::reference
