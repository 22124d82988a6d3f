// SPDX-License-Identifier: Apache-2.0
#include "text/table_hash.h"

#include <random>

namespace anemone::text {

std::uint64_t table_multiplier() {
  static const std::uint64_t multiplier = [] {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;
  }();
  return multiplier;
}

}  // namespace anemone::text
