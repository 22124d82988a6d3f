// SPDX-License-Identifier: Apache-2.0
#include "exec/cache_positions.h"

#include <cstddef>
#include <cstring>

#include "base/check.h"

namespace anemone::exec {

void copy_positions(const TensorView& from, std::int64_t count, const MutableTensorView& to,
                    std::int64_t to_begin, std::int64_t from_begin) {
  ANEMONE_CHECK(from.dtype == to.dtype && from.shape.size() == 4 && to.shape.size() == 4 &&
                from.shape[0] == to.shape[0] && from.shape[1] == to.shape[1] &&
                from.shape[3] == to.shape[3] && count >= 0 && from_begin >= 0 &&
                count <= from.shape[2] - from_begin && to_begin >= 0 &&
                count <= to.shape[2] - to_begin);
  const auto row =
      static_cast<std::size_t>(dtype_bytes(from.dtype, static_cast<std::uint64_t>(from.shape[3])));
  if (count == 0) return;
  for (std::int64_t h = 0; h < from.shape[0] * from.shape[1]; ++h)
    std::memcpy(to.data + static_cast<std::size_t>(h * to.shape[2] + to_begin) * row,
                from.data + static_cast<std::size_t>(h * from.shape[2] + from_begin) * row,
                static_cast<std::size_t>(count) * row);
}

}  // namespace anemone::exec
