// SPDX-License-Identifier: Apache-2.0
// Functions for instructions that the rest of the file may not use are marked one by one; they call
// nothing but intrinsics, so nothing of theirs can be shared by the linker.
#include "kernels/simd/peak.h"

#include <cstddef>

#if defined(__x86_64__)
#include <immintrin.h>

#include "kernels/simd/amx_tiles.h"
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace anemone::kernels::simd {
namespace {

// Sums that do not wait for each other: more than any processor has in flight. Each is kept before
// the loop, or the compiler sees that all are the same and makes one of them. The loops over them
// are unrolled early, or the compiler copies the sums in every round.
constexpr int kSums = 12;
#define ANEMONE_FOR_EACH(item, items) _Pragma("GCC unroll 12") for (auto& item : items)

#if defined(__x86_64__)
#define ANEMONE_KEEP(value) asm volatile("" : "+v"(value))

__attribute__((target("amx-tile,amx-int8"))) void int8_amx(std::int64_t rounds) {
  const amx::Tiles tiles;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 5, 6);
    _tile_dpbssd(2, 4, 7);
    _tile_dpbssd(3, 5, 7);
  }
}

__attribute__((target("amx-tile,amx-bf16"))) void bf16_amx(std::int64_t rounds) {
  const amx::Tiles tiles;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 5, 6);
    _tile_dpbf16ps(2, 4, 7);
    _tile_dpbf16ps(3, 5, 7);
  }
}

__attribute__((target("avx512f,avx512bw,avx512vnni"))) void int8_vnni(std::int64_t rounds) {
  __m512i sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  __m512i a = _mm512_set1_epi8(3);
  const __m512i b = _mm512_set1_epi8(5);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ANEMONE_KEEP(a);
    ANEMONE_FOR_EACH (sum, sums) sum = _mm512_dpbusd_epi32(sum, a, b);
  }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}

__attribute__((target("avx512f,avx512bw"))) void int8_avx512(std::int64_t rounds) {
  __m512i sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  __m512i a = _mm512_set1_epi8(3);
  const __m512i b = _mm512_set1_epi8(5);
  const __m512i ones = _mm512_set1_epi16(1);
  for (std::int64_t i = 0; i < rounds; ++i)
    ANEMONE_FOR_EACH (sum, sums) {
      ANEMONE_KEEP(a);
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), ones));
    }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}

__attribute__((target("avx512f"))) void fp32_avx512(std::int64_t rounds) {
  __m512 sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  __m512 a = _mm512_set1_ps(1);
  const __m512 b = _mm512_set1_ps(0x1p-20f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ANEMONE_KEEP(a);
    ANEMONE_FOR_EACH (sum, sums) sum = _mm512_fmadd_ps(a, b, sum);
  }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}

__attribute__((target("avx2"))) void int8_avx2(std::int64_t rounds) {
  __m256i sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  __m256i a = _mm256_set1_epi8(3);
  const __m256i b = _mm256_set1_epi8(5);
  const __m256i ones = _mm256_set1_epi16(1);
  for (std::int64_t i = 0; i < rounds; ++i)
    ANEMONE_FOR_EACH (sum, sums) {
      ANEMONE_KEEP(a);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}

__attribute__((target("avx2,fma"))) void fp32_avx2(std::int64_t rounds) {
  __m256 sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  __m256 a = _mm256_set1_ps(1);
  const __m256 b = _mm256_set1_ps(0x1p-20f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ANEMONE_KEEP(a);
    ANEMONE_FOR_EACH (sum, sums) sum = _mm256_fmadd_ps(a, b, sum);
  }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}
#undef ANEMONE_KEEP
#elif defined(__aarch64__)
#define ANEMONE_KEEP(value) asm volatile("" : "+w"(value))

void int8_neon(std::int64_t rounds) {
  int32x4_t sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  int8x16_t a = vdupq_n_s8(3);
  const int8x16_t b = vdupq_n_s8(5);
  for (std::int64_t i = 0; i < rounds; ++i)
    ANEMONE_FOR_EACH (sum, sums) {
      ANEMONE_KEEP(a);
#if defined(__ARM_FEATURE_DOTPROD)
      sum = vdotq_s32(sum, a, b);
#else
      const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
      sum = vpadalq_s16(sum, vmlal_s8(low, vget_high_s8(a), vget_high_s8(b)));
#endif
    }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}

void fp32_neon(std::int64_t rounds) {
  float32x4_t sums[kSums] = {};
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
  float32x4_t a = vdupq_n_f32(1);
  const float32x4_t b = vdupq_n_f32(0x1p-20f);
  for (std::int64_t i = 0; i < rounds; ++i) {
    ANEMONE_KEEP(a);
    ANEMONE_FOR_EACH (sum, sums) sum = vfmaq_f32(sum, a, b);
  }
  ANEMONE_FOR_EACH (sum, sums) ANEMONE_KEEP(sum);
}
#undef ANEMONE_KEEP
#endif

// What the compiler makes of vectors on any processor.
using Shorts = std::int16_t __attribute__((vector_size(16)));
using Singles = float __attribute__((vector_size(16)));

template <typename V>
void plain_products(std::int64_t rounds, V a, V b) {
  V sums[kSums] = {};
  for (V& sum : sums) asm volatile("" : "+m"(sum));
  for (std::int64_t i = 0; i < rounds; ++i)
    for (V& sum : sums) {
      asm volatile("" : "+m"(a));
      sum += a * b;
    }
  for (V& sum : sums) asm volatile("" : "+m"(sum));
}

void int8_plain(std::int64_t rounds) {
  plain_products<Shorts>(rounds, Shorts{3, 3, 3, 3, 3, 3, 3, 3}, Shorts{5, 5, 5, 5, 5, 5, 5, 5});
}

void fp32_plain(std::int64_t rounds) {
  plain_products<Singles>(rounds, Singles{1, 1, 1, 1}, Singles{0x1p-20f, 0x1p-20f, 0x1p-20f, 0});
}

// Operations of one round: each product is a multiplication and an addition.
constexpr double products(double in_one_instruction) {
  return 2 * kSums * in_one_instruction;
}
#if defined(__x86_64__)
constexpr double kTileProducts = 16 * 16 * 64;  // of bytes; half of it of bf16
#endif

#undef ANEMONE_FOR_EACH

}  // namespace

Peak int8_peak(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return {"amx-int8", 4 * 2 * kTileProducts, int8_amx};
    case Isa::kAvx512Vbmi:
    case Isa::kAvx512Vnni:
      return {"avx512vnni", products(64), int8_vnni};
    case Isa::kAvx512:
      return {"avx512", products(64), int8_avx512};
    case Isa::kAvx2:
      return {"avx2", products(32), int8_avx2};
#elif defined(__aarch64__)
    case Isa::kNeon:
      return {"neon", products(16), int8_neon};
#endif
    default:
      return {"plain", products(8), int8_plain};
  }
}

Peak bf16_peak(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kAmx:
      return {"amx-bf16", 4 * kTileProducts, bf16_amx};
    case Isa::kAvx512Vbmi:
    case Isa::kAvx512Vnni:
      return {"avx512vnni-fp32", products(16), fp32_avx512};
    case Isa::kAvx512:
      return {"avx512-fp32", products(16), fp32_avx512};
    case Isa::kAvx2:
      return {"avx2-fp32", products(8), fp32_avx2};
#elif defined(__aarch64__)
    case Isa::kNeon:
      return {"neon-fp32", products(4), fp32_neon};
#endif
    default:
      return {"plain-fp32", products(4), fp32_plain};
  }
}

}  // namespace anemone::kernels::simd
