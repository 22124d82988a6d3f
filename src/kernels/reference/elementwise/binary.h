// SPDX-License-Identifier: Apache-2.0
// z = f(x, y) with numpy broadcasting. f takes the type that load_element() gives.
#pragma once

#include "kernels/kernel.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/strided_rows.h"

namespace anemone::kernels::reference {

template <typename In, typename Out, typename F>
void map_pairs(const TensorView& x, const TensorView& y, const MutableTensorView& z,
               ThreadPool& threads, F&& f) {
  const In* xs = x.as<In>().data();
  const In* ys = y.as<In>().data();
  Out* zs = z.as<Out>().data();
  const StridedRows<3> rows(z.shape, {strides_of(z.shape), broadcast_strides(x.shape, z.shape),
                                      broadcast_strides(y.shape, z.shape)});
  const std::int64_t x_step = rows.row_stride(1);
  const std::int64_t y_step = rows.row_stride(2);
  rows.parallel(threads, [&](const StridedRows<3>::Offsets& offsets, std::int64_t length) {
    Out* target = zs + offsets[0];
    const In* a = xs + offsets[1];
    const In* b = ys + offsets[2];
    if (x_step == 1 && y_step == 1) {
      for (std::int64_t i = 0; i < length; ++i)
        target[i] = store_element<Out>(f(load_element(a[i]), load_element(b[i])));
    } else if (x_step == 1 && y_step == 0) {
      const auto right = load_element(*b);
      for (std::int64_t i = 0; i < length; ++i)
        target[i] = store_element<Out>(f(load_element(a[i]), right));
    } else {
      for (std::int64_t i = 0; i < length; ++i)
        target[i] = store_element<Out>(f(load_element(a[i * x_step]), load_element(b[i * y_step])));
    }
  });
}

// Applies f to fp16, fp32 or int32; the result has the same dtype. f is called with floats or
// int64s.
template <typename F>
Status binary_numeric(const KernelCall& call, F&& f) {
  const TensorView x = call.input("x");
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    map_pairs<T, T>(x, call.input("y"), call.output(), call.threads(), f);
  });
}

// Applies f to fp16, fp32 or int32; the result is bool.
template <typename F>
Status compare(const KernelCall& call, F&& f) {
  const TensorView x = call.input("x");
  return visit_numeric(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    map_pairs<T, bool>(x, call.input("y"), call.output(), call.threads(), f);
  });
}

// Applies f to booleans.
template <typename F>
Status binary_logical(const KernelCall& call, F&& f) {
  map_pairs<bool, bool>(call.input("x"), call.input("y"), call.output(), call.threads(), f);
  return ok_status();
}

}  // namespace anemone::kernels::reference
