// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/elements.h"
#include "kernels/reference/common/strided_rows.h"
#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {
namespace {

template <typename T>
void select(const KernelCall& call, const TensorView& condition, const TensorView& a,
            const TensorView& b, const MutableTensorView& out) {
  const StridedRows<4> rows(
      out.shape, {strides_of(out.shape), broadcast_strides(condition.shape, out.shape),
                  broadcast_strides(a.shape, out.shape), broadcast_strides(b.shape, out.shape)});
  const bool* conditions = condition.as<bool>().data();
  const T* as = a.as<T>().data();
  const T* bs = b.as<T>().data();
  T* target = out.as<T>().data();
  rows.parallel(call.threads(), [&](const StridedRows<4>::Offsets& offsets, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i)
      target[offsets[0] + i] = conditions[offsets[1] + i * rows.row_stride(1)]
                                   ? as[offsets[2] + i * rows.row_stride(2)]
                                   : bs[offsets[3] + i * rows.row_stride(3)];
  });
}

}  // namespace

Status select_kernel(const KernelCall& call) {
  const TensorView a = call.input("a");
  return visit_any(a.dtype, [&](auto tag) {
    select<decltype(tag)>(call, call.input("cond"), a, call.input("b"), call.output());
  });
}

}  // namespace anemone::kernels::reference
