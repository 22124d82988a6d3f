// SPDX-License-Identifier: Apache-2.0
// What attention by tiles of bf16 and by products of int16 have in common: memory, loads, and
// powers of 2 for weights that are rounded to fewer bits than fp32 has.
#pragma once

#include <cstddef>

#include "kernels/simd/kernels.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// Memory for vectors, aligned to lines of the cache.
class Memory {
 public:
  explicit Memory(float* scratch)
      : at_(reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 *
                                         64)) {}
  // In whole lines.
  template <typename T>
  T* take(std::int64_t count) {
    std::byte* const at = at_;
    at_ += round_up(count * std::int64_t{sizeof(T)}, 64);
    return reinterpret_cast<T*>(at);
  }

 private:
  std::byte* at_;
};

// The first `count` of 32 halves, zeros after them.
inline __m512i load_some(const Half* from, std::int64_t count) {
  if (count >= 32) return _mm512_loadu_si512(from);
  const auto mask = count <= 0 ? 0u : (1u << count) - 1;
  return _mm512_maskz_loadu_epi16(mask, from);
}

constexpr float kLog2E = 1.44269504f;

// 2^x for x up to 126, to 2^-18; below `lowest`, -126 at least, it is 2^lowest. It is 2^n * p(r)
// with r in [-1/2, 1/2] and p a polynomial of degree 4, which interpolates at the nodes of
// Chebyshev.
inline Floats power_of_2(Floats x, float lowest = -126) {
  x = max(broadcast(lowest), x);
  // Adding 1.5 * 2^23 rounds to an integer, which the low bits then hold.
  const Floats magic = broadcast(12582912.0f);
  const Floats shifted = x + magic;
  const Floats r = x - (shifted - magic);
  Floats p = broadcast(0.00966636852f);
  p = fma(p, r, broadcast(0.0559219758f));
  p = fma(p, r, broadcast(0.240223490f));
  p = fma(p, r, broadcast(0.693121045f));
  p = fma(p, r, broadcast(1.0f));
  return (Floats)((Ints)p + ((Ints)shifted << 23));
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
