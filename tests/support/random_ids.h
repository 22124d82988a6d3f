// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anemone::testing {

// Token ids from 0 to `most` - 1 that look random and are the same for each seed, on all machines.
inline std::vector<std::int32_t> random_ids(std::size_t count, std::uint32_t most,
                                            std::uint32_t seed) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;  // Numerical Recipes' generator
    ids.push_back(static_cast<std::int32_t>((seed >> 8) % most));
  }
  return ids;
}

}  // namespace anemone::testing
