// SPDX-License-Identifier: Apache-2.0
// Vectors of floats as one instruction set has them. Included by the file of each set, which
// defines ANEMONE_SIMD_NAMESPACE and at most one of ANEMONE_SIMD_AVX512, _AVX2 and _NEON; so the
// kernels, which are written once over these few functions, are compiled for every set.
#pragma once

#ifndef ANEMONE_SIMD_NAMESPACE
#error "include this from the file of an instruction set"
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/simd/prefetch.h"
#include "tensor/half.h"

#if defined(ANEMONE_SIMD_AVX512) || defined(ANEMONE_SIMD_AVX2)
#include <immintrin.h>
#elif defined(ANEMONE_SIMD_NEON)
#include <arm_neon.h>
#endif

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

#if defined(ANEMONE_SIMD_AVX512)
constexpr int kWidth = 16;
#elif defined(ANEMONE_SIMD_AVX2)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif

typedef float Floats __attribute__((vector_size(kWidth * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kWidth * 4)));
typedef std::int8_t Bytes __attribute__((vector_size(kWidth)));

template <typename Vector, typename T>
inline Vector load_as(const T* p) {
  Vector v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline Floats load(const float* p) {
  return load_as<Floats>(p);
}
inline void store(float* p, Floats v) {
  std::memcpy(p, &v, sizeof(v));
}
inline Floats broadcast(float x) {
  // The compiler leaves out a subtraction of zero, not the addition of one, which changes -0.
  return x - Floats{};
}

// a * b + c, in one rounding where the set has it.
inline Floats fma(Floats a, Floats b, Floats c) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(ANEMONE_SIMD_NEON)
  return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

// a > b ? a : b, and a < b ? a : b: b where one is no number. GCC makes two instructions of these.
inline Floats max(Floats a, Floats b) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}
inline Floats min(Floats a, Floats b) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return a < b ? a : b;
#endif
}

inline Floats sqrt(Floats v) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_sqrt_ps((__m512)v);
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_sqrt_ps((__m256)v);
#elif defined(ANEMONE_SIMD_NEON)
  return (Floats)vsqrtq_f32((float32x4_t)v);
#else
  for (int i = 0; i < kWidth; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

inline Floats load_halves(const Half* p) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#elif defined(ANEMONE_SIMD_NEON)
  return (Floats)vcvt_f32_f16(
      vreinterpret_f16_u16(vld1_u16(reinterpret_cast<const std::uint16_t*>(p))));
#else
  Floats v{};
  for (int i = 0; i < kWidth; ++i) v[i] = to_float(p[i]);
  return v;
#endif
}

inline void store_halves(Half* p, Floats v) {
#if defined(ANEMONE_SIMD_AVX512)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph((__m512)v, 0));
#elif defined(ANEMONE_SIMD_AVX2)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph((__m256)v, 0));
#elif defined(ANEMONE_SIMD_NEON)
  vst1_u16(reinterpret_cast<std::uint16_t*>(p), vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
#else
  for (int i = 0; i < kWidth; ++i) p[i] = to_half(v[i]);
#endif
}

// To the nearest numbers of fp16.
inline Floats nearest_halves(Floats v) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v, 0));
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v, 0));
#elif defined(ANEMONE_SIMD_NEON)
  return (Floats)vcvt_f32_f16(vcvt_f16_f32((float32x4_t)v));
#else
  for (int i = 0; i < kWidth; ++i) v[i] = to_float(to_half(v[i]));
  return v;
#endif
}

// kWidth signed bytes.
inline Floats load_int8(const std::byte* p) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Floats)_mm512_cvtepi32_ps(
      _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(ANEMONE_SIMD_AVX2)
  return (Floats)_mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#else
  return __builtin_convertvector(__builtin_convertvector(load_as<Bytes>(p), Ints), Floats);
#endif
}

// kWidth bytes as integers of 0 to 255: two nibbles each.
inline Ints load_nibbles(const std::byte* p) {
#if defined(ANEMONE_SIMD_AVX512)
  return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#elif defined(ANEMONE_SIMD_AVX2)
  return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
#else
  return __builtin_convertvector(load_as<Bytes>(p), Ints) & 0xff;
#endif
}

// The sum in a fixed order: halves onto each other.
inline float sum(Floats v) {
#if defined(ANEMONE_SIMD_AVX512)
  const __m256 a =
      _mm256_add_ps(_mm512_castps512_ps256((__m512)v), _mm512_extractf32x8_ps((__m512)v, 1));
  __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  b = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
#elif defined(ANEMONE_SIMD_AVX2)
  __m128 b = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
  b = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

// Whether each number of `a` equals that of `b`; NaN equals nothing.
inline bool are_equal(Floats a, Floats b) {
#if defined(ANEMONE_SIMD_AVX512)
  return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_NEQ_UQ) == 0;
#else
  const auto equal = a == b;
  for (int i = 0; i < kWidth; ++i)
    if (equal[i] == 0) return false;
  return true;
#endif
}

inline float highest(Floats v) {
#if defined(ANEMONE_SIMD_AVX512)
  return _mm512_reduce_max_ps((__m512)v);
#else
  float m = v[0];
  for (int i = 1; i < kWidth; ++i) m = v[i] > m ? v[i] : m;
  return m;
#endif
}

// e^x to about 2 ulp: 2^n * p(r) with r in [-ln2/2, ln2/2] and p a polynomial of degree 6 (Taylor).
// Below `lowest` (-87 at least: 10^-38) it is e^lowest, above 88 e^88.
inline Floats exp(Floats x, float lowest = -87) {
  x = max(broadcast(lowest), min(broadcast(88.0f), x));
  // Adding 1.5 * 2^23 rounds to an integer, which the low bits then hold.
  const Floats magic = broadcast(12582912.0f);
  const Floats shifted = fma(x, broadcast(1.44269504f), magic);
  const Floats n = shifted - magic;
  // ln 2 in two parts, so that the first product is exact.
  const Floats r = fma(n, broadcast(-1.42860677e-6f), fma(n, broadcast(-0.693145752f), x));
  Floats p = broadcast(1.0f / 720);
  p = fma(p, r, broadcast(1.0f / 120));
  p = fma(p, r, broadcast(1.0f / 24));
  p = fma(p, r, broadcast(1.0f / 6));
  p = fma(p, r, broadcast(0.5f));
  p = fma(p, r, broadcast(1.0f));
  p = fma(p, r, broadcast(1.0f));
  Ints bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits - 0x4b400000 + 127) << 23;
  Floats power;
  std::memcpy(&power, &bits, sizeof(power));
  return p * power;
}

// Prefetches elements [begin, begin + count), for arrays longer than a page, at whose end the
// processor's own prefetching stops. They may lie beyond the memory, but a prefetch costs time
// where there is no page.
[[gnu::always_inline]] inline void prefetch(const Half* from, std::int64_t begin,
                                            std::int64_t count) {
  constexpr std::int64_t kLine = 64 / sizeof(Half);
  for (std::int64_t i = begin; i < begin + count; i += kLine)
    __builtin_prefetch(address_after(from, i * std::int64_t{sizeof(Half)}));
}

inline void to_floats(const Half* in, float* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(out + i, load_halves(in + i));
  for (; i < count; ++i) out[i] = to_float(in[i]);
}

inline void to_halves(const float* in, Half* out, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store_halves(out + i, load(in + i));
  for (; i < count; ++i) out[i] = to_half(in[i]);
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
