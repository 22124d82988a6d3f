// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/constexpr/sparse.h"

#include "base/error.h"

namespace anemone::kernels::reference {

Result<std::vector<std::int64_t>> positions_of(const TensorView& mask, std::int64_t count,
                                               std::string_view label) {
  std::vector<std::int64_t> positions;
  positions.reserve(static_cast<std::size_t>(count));
  const std::int64_t size = mask.size();
  std::int64_t ones = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (((std::to_integer<unsigned>(mask.data[i / 8]) >> (i % 8)) & 1u) == 0) continue;
    if (++ones <= count) positions.push_back(i);
  }
  if (ones != count)
    return corrupt("expected as many ones in the mask as nonzero elements, {}, got {} ({})", count,
                   ones, label);
  return positions;
}

}  // namespace anemone::kernels::reference
