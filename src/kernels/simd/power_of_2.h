// SPDX-License-Identifier: Apache-2.0
// Powers of 2 for the weights of a softmax that are rounded to fewer bits than fp32 has.
#pragma once

#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

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
