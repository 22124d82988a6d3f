// SPDX-License-Identifier: Apache-2.0
#include "tensor/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace anemone {
namespace {

// The definition of binary16, in exact double arithmetic.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value = mantissa == 0 ? HUGE_VAL : std::nan("");
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// Round to nearest even by looking for the neighbours: slow and obvious. NaN is not supported.
std::uint16_t slow_to_half(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(static_cast<double>(value));
  // Above the largest finite half the next step would be 65536; from the middle on it is infinity.
  if (magnitude >= 65520.0) return sign | 0x7c00;
  std::uint16_t low = 0;
  std::uint16_t high = 0x7c00;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (half_value(middle) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - half_value(low);
  const double above = (high == 0x7c00 ? 65536.0 : half_value(high)) - magnitude;
  const bool up = below > above || (below == above && low % 2 == 1);
  return static_cast<std::uint16_t>(sign | (up ? high : low));
}

void expect_like_slow(float value) {
  ASSERT_EQ(to_half(value).bits, slow_to_half(value))
      << value << " = 0x" << std::hex << std::bit_cast<std::uint32_t>(value);
}

TEST(Half, EveryBitPatternHasItsExactValue) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float got = to_float(Half{static_cast<std::uint16_t>(bits)});
    const double want = half_value(static_cast<std::uint16_t>(bits));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(got), want) << bits;
      ASSERT_EQ(std::signbit(got), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST(Half, EveryBitPatternRoundTrips) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const Half back = to_half(to_float(half));
    if (std::isnan(to_float(half))) {
      ASSERT_TRUE(std::isnan(to_float(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

TEST(Half, RoundsAroundEveryHalfAndEveryTieToNearestEven) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float value = to_float(Half{static_cast<std::uint16_t>(bits)});
    const float next =
        bits + 1 < 0x7c00 ? to_float(Half{static_cast<std::uint16_t>(bits + 1)}) : 65536.0f;
    const float tie = value + (next - value) / 2;
    for (const float centre : {value, tie}) {
      for (const float probe : {centre, std::nextafter(centre, 0.0f),
                                std::nextafter(centre, std::numeric_limits<float>::infinity())}) {
        expect_like_slow(probe);
        expect_like_slow(-probe);
      }
    }
  }
}

TEST(Half, RoundsRandomFloatsOfEveryExponent) {
  std::mt19937 random(11);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int i = 0; i < 2000; ++i) {
      const std::uint32_t bits = (random() & 0x807fffffu) | exponent << 23;
      expect_like_slow(std::bit_cast<float>(bits));
    }
  }
}

TEST(Half, OverflowsToInfinityFromTheMiddleOn) {
  EXPECT_EQ(to_half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_half(-1e10f).bits, 0xfc00);
  EXPECT_EQ(to_half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(Half, UnderflowsThroughSubnormalsToSignedZero) {
  EXPECT_EQ(to_half(0x1p-14f).bits, 0x0400);
  EXPECT_EQ(to_half(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(to_half(0x1p-25f).bits, 0x0000) << "a tie goes to the even zero";
  EXPECT_EQ(to_half(std::nextafter(0x1p-25f, 1.0f)).bits, 0x0001);
  EXPECT_EQ(to_half(0x1.8p-24f).bits, 0x0002) << "a tie goes to the even neighbour";
  EXPECT_EQ(to_half(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_half(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

TEST(Half, KeepsEveryNanANan) {
  for (const std::uint32_t bits :
       {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const Half half = to_half(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(to_float(half))) << bits;
    EXPECT_EQ(half.bits & 0x8000u, bits >> 16 & 0x8000u);
  }
}

TEST(BFloat16, EveryBitPatternRoundTrips) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = to_float(BFloat16{static_cast<std::uint16_t>(bits)});
    const BFloat16 back = to_bfloat16(value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(back)));
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  std::mt19937 random(13);
  for (int i = 0; i < 200'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rest = bits & 0xffffu;
    std::uint32_t want = bits >> 16;
    if (rest > 0x8000u || (rest == 0x8000u && want % 2 == 1)) ++want;
    ASSERT_EQ(to_bfloat16(value).bits, want) << bits;
  }
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80) << "tie to even, down";
  EXPECT_EQ(to_bfloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82) << "tie to even, up";
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80) << "overflow to infinity";
}

TEST(BFloat16, KeepsEveryNanANan) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff80ffffu, 0xffffffffu})
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(std::bit_cast<float>(bits)))));
}

TEST(BulkConversion, AgreesWithOneByOne) {
  std::mt19937 random(17);
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 1000u}) {
    std::vector<float> values(count);
    for (auto& value : values) value = static_cast<float>(random() % 100'000) / 7.0f - 5000.0f;
    std::vector<Half> halves(count);
    to_halves(values, halves);
    std::vector<float> back(count);
    to_floats(halves, back);
    std::vector<BFloat16> bfloats(count);
    for (std::size_t i = 0; i < count; ++i) bfloats[i] = to_bfloat16(values[i]);
    std::vector<float> wide(count);
    to_floats(bfloats, wide);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(halves[i], to_half(values[i]));
      EXPECT_EQ(back[i], to_float(halves[i]));
      EXPECT_EQ(wide[i], to_float(bfloats[i]));
    }
  }
}

}  // namespace
}  // namespace anemone
