// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tensor/half.h"

namespace anemone::kernels::testing {

// Repeatable values in [-range, range].
class RandomValues {
 public:
  explicit RandomValues(std::uint32_t seed) : engine_(seed) {}
  float next(float range = 1) {
    return range * (static_cast<float>(engine_() >> 8) * 0x1p-23f - 1.0f);
  }
  std::vector<float> floats(std::int64_t count, float range = 1) {
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& x : out) x = next(range);
    return out;
  }
  std::vector<Half> halves(std::int64_t count, float range = 1) {
    std::vector<Half> out(static_cast<std::size_t>(count));
    for (Half& x : out) x = to_half(next(range));
    return out;
  }
  std::vector<std::byte> bytes(std::int64_t count) {
    std::vector<std::byte> out(static_cast<std::size_t>(count));
    for (std::byte& x : out) x = static_cast<std::byte>(engine_() >> 11);
    return out;
  }

 private:
  std::mt19937 engine_;
};

}  // namespace anemone::kernels::testing
