// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include "base/check.h"

namespace anemone {
namespace {

// Most of what is converted are logits, one per text of a step and entry of the vocabulary.
[[gnu::always_inline]] inline void convert(std::span<const Half> in, std::span<float> out) {
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = to_float(in[i]);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void convert_avx2(std::span<const Half> in, std::span<float> out) {
  convert(in, out);
}
#endif

}  // namespace

void to_floats(std::span<const Half> in, std::span<float> out) {
  ANEMONE_CHECK(in.size() == out.size());
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return convert_avx2(in, out);
#endif
  convert(in, out);
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
