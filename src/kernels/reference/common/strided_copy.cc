// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/common/strided_copy.h"

#include <cstring>

#include "base/check.h"

namespace anemone::kernels {
namespace {

template <typename T>
void copy_elements(const Shape& shape, const StridedSource& from, const StridedTarget& to,
                   ThreadPool& threads) {
  const StridedRows<2> rows(shape, {to.strides, from.strides});
  const std::int64_t to_step = rows.row_stride(0);
  const std::int64_t from_step = rows.row_stride(1);
  rows.parallel(threads, [&](const StridedRows<2>::Offsets& offsets, std::int64_t length) {
    T* target = reinterpret_cast<T*>(to.data) + offsets[0];
    const T* source = reinterpret_cast<const T*>(from.data) + offsets[1];
    if (to_step == 1 && from_step == 1) {
      std::memcpy(target, source, static_cast<std::size_t>(length) * sizeof(T));
    } else if (to_step == 1 && from_step == 0) {
      std::fill_n(target, length, *source);
    } else {
      for (std::int64_t i = 0; i < length; ++i) target[i * to_step] = source[i * from_step];
    }
  });
}

}  // namespace

void strided_copy(const Shape& shape, DType dtype, const StridedSource& from,
                  const StridedTarget& to, ThreadPool& threads) {
  switch (dtype_bits(dtype)) {
    case 8:
      return copy_elements<std::uint8_t>(shape, from, to, threads);
    case 16:
      return copy_elements<std::uint16_t>(shape, from, to, threads);
    case 32:
      return copy_elements<std::uint32_t>(shape, from, to, threads);
    case 64:
      return copy_elements<std::uint64_t>(shape, from, to, threads);
    default:
      ANEMONE_CHECK(false && "strided_copy of a sub-byte or string tensor");
  }
}

}  // namespace anemone::kernels
