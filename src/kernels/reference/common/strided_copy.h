// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/reference/common/strided_rows.h"
#include "tensor/dtype.h"

namespace anemone::kernels {

// A tensor, or a part of one, that is walked with strides of its own.
struct StridedSource {
  const std::byte* data;  // the first element
  Strides strides;        // in elements, may be 0 or negative
};
struct StridedTarget {
  std::byte* data;
  Strides strides;
};

// Copies `shape` elements of `dtype` (not a sub-byte one) bit by bit. The two do not overlap.
void strided_copy(const Shape& shape, DType dtype, const StridedSource& from,
                  const StridedTarget& to, ThreadPool& threads);

}  // namespace anemone::kernels
