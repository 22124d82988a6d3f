// SPDX-License-Identifier: Apache-2.0
// Functions of one variable over the vectors of one instruction set: to about 2^-20 of the result,
// small results included, so that their error vanishes beside the rounding to fp16. Infinities and
// NaN give what the formula gives.
#pragma once

#include <limits>

#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::int32_t kSignBit = std::numeric_limits<std::int32_t>::min();

inline Floats abs(Floats x) {
  Ints bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits &= ~kSignBit;
  std::memcpy(&x, &bits, sizeof(bits));
  return x;
}

// The magnitude of the first, which is not negative, with the sign of the second.
inline Floats with_sign(Floats magnitude, Floats sign) {
  Ints bits;
  Ints sign_bits;
  std::memcpy(&bits, &magnitude, sizeof(bits));
  std::memcpy(&sign_bits, &sign, sizeof(sign_bits));
  bits |= sign_bits & kSignBit;
  std::memcpy(&magnitude, &bits, sizeof(bits));
  return magnitude;
}

// e^x down to 0 and up to infinity, which exp() does not reach.
inline Floats unbounded_exp(Floats x) {
  Floats y = exp(x);
  y = x > broadcast(88.0f) ? broadcast(kInfinity) : y;
  return x < broadcast(-87.0f) ? Floats{} : y;
}

// Sum of c[i] * z^(n - 1 - i).
template <int n>
inline Floats polynomial(Floats z, const float (&c)[n]) {
  Floats p = broadcast(c[0]);
  for (int i = 1; i < n; ++i) p = fma(p, z, broadcast(c[i]));
  return p;
}

// 1 / (1 + e^-x)
inline Floats sigmoid(Floats x) {
  return 1.0f / (unbounded_exp(-x) + 1.0f);
}

// x / (1 + e^-argument)
inline Floats times_sigmoid(Floats x, Floats argument) {
  return x / (unbounded_exp(-argument) + 1.0f);
}

// Small arguments by an odd polynomial (Cephes, tanhf), the others as 1 - 2 / (e^2|x| + 1).
inline Floats tanh(Floats x) {
  const Floats a = abs(x);
  const Floats z = x * x;
  const Floats p = polynomial(z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                  1.33314422036e-1f, -3.33332819422e-1f});
  const Floats small = fma(p * z, x, x);
  const Floats large = 1.0f - 2.0f / (unbounded_exp(a + a) + 1.0f);
  return a < broadcast(0.625f) ? small : with_sign(large, x);
}

// e^x - 1 for x <= 0, by tanh(x / 2): the difference loses nothing near 0.
inline Floats exp_minus_1(Floats x) {
  const Floats t = tanh(x * 0.5f);
  return 2.0f * t / (1.0f - t);
}

// The complement of erf, z >= 0, to 1.2e-7 of the result however small it is: t e^(-z^2 + p(t))
// with t = 1 / (1 + z / 2) and a Chebyshev fit p (Numerical Recipes, erfcc).
inline Floats erfc_of_positive(Floats z) {
  const Floats t = 1.0f / fma(z, broadcast(0.5f), broadcast(1.0f));
  const Floats p =
      polynomial(t, {0.17087277f, -0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f,
                     -0.18628806f, 0.09678418f, 0.37409196f, 1.00002368f, -1.26551223f});
  return t * unbounded_exp(fma(-z, z, p));
}

// Small arguments by an odd polynomial (Cephes, erff).
inline Floats erf(Floats x) {
  const Floats a = abs(x);
  const Floats small =
      x * polynomial(x * x, {7.853861353153693e-5f, -8.010193625184903e-4f, 5.188327685732524e-3f,
                             -2.685381193529856e-2f, 1.128358514861418e-1f, -3.761262582423300e-1f,
                             1.128379165726710e+0f});
  return a < broadcast(1.0f) ? small : with_sign(1.0f - erfc_of_positive(a), x);
}

// x / 2 * erfc(-x / sqrt(2))
inline Floats gelu(Floats x) {
  const Floats c = erfc_of_positive(abs(x) * 0.7071067812f);
  return 0.5f * x * (x > Floats{} ? 2.0f - c : c);
}

// x / 2 * (1 + tanh(u)) = x / (1 + e^-2u), which does not cancel.
inline Floats gelu_of_tanh(Floats x) {
  const Floats u = 0.7978845608f * (x + 0.044715f * x * x * x);
  return times_sigmoid(x, u + u);
}

// log(1 + e^x) = max(x, 0) + 2 atanh(e / (2 + e)) with e = e^-|x|
inline Floats softplus(Floats x) {
  const Floats e = unbounded_exp(-abs(x));
  const Floats s = e / (e + 2.0f);
  const Floats series =
      polynomial(s * s, {1.0f / 13, 1.0f / 11, 1.0f / 9, 1.0f / 7, 1.0f / 5, 1.0f / 3, 1.0f});
  return (x > Floats{} ? x : Floats{}) + 2.0f * s * series;
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
