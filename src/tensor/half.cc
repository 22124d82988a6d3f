// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include "base/check.h"

namespace anemone {

void to_floats(std::span<const Half> in, std::span<float> out) {
  ANEMONE_CHECK(in.size() == out.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = to_float(in[i]);
}

void to_floats(std::span<const BFloat16> in, std::span<float> out) {
  ANEMONE_CHECK(in.size() == out.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = to_float(in[i]);
}

void to_halves(std::span<const float> in, std::span<Half> out) {
  ANEMONE_CHECK(in.size() == out.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = to_half(in[i]);
}

}  // namespace anemone
