// SPDX-License-Identifier: Apache-2.0
#include "tensor/bits.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace anemone {
namespace {

struct Golden {
  DType dtype;
  std::vector<std::int32_t> values;
  std::vector<std::uint8_t> bytes;
};

class PackedBytes : public ::testing::TestWithParam<Golden> {};

TEST_P(PackedBytes, AreInTheLayoutOfCoreMl) {
  const Golden& golden = GetParam();
  std::vector<std::byte> packed(dtype_bytes(golden.dtype, golden.values.size()));
  ASSERT_EQ(packed.size(), golden.bytes.size());
  pack_bits(golden.values, golden.dtype, packed);
  for (std::size_t i = 0; i < packed.size(); ++i)
    EXPECT_EQ(static_cast<unsigned>(packed[i]), golden.bytes[i]) << "byte " << i;
}

TEST_P(PackedBytes, ReadBackAsTheValues) {
  const Golden& golden = GetParam();
  const auto packed = std::as_bytes(std::span(golden.bytes));
  std::vector<std::int32_t> out(golden.values.size());
  unpack_bits(packed, golden.dtype, out);
  EXPECT_EQ(out, golden.values);
}

// Apple's blob writer wrote the bytes of the first three. The others follow the same rule: the
// first value is in the lowest bits.
INSTANTIATE_TEST_SUITE_P(
    Goldens, PackedBytes,
    ::testing::Values(Golden{DType::kInt4, {-8, -1, 0, 1, 2, 7, 3}, {0xf8, 0x10, 0x72, 0x03}},
                      Golden{DType::kUInt3, {1, 2, 3, 4, 5, 6, 7, 0, 1}, {0xd1, 0x58, 0x1f, 0x01}},
                      Golden{DType::kUInt6, {1, 2, 3, 63}, {0x81, 0x30, 0xfc}},
                      Golden{DType::kUInt1, {1, 0, 0, 1, 1, 0, 0, 0, 1}, {0x19, 0x01}},
                      Golden{DType::kUInt2, {0, 1, 2, 3, 3}, {0xe4, 0x03}},
                      Golden{DType::kUInt4, {15, 0, 9}, {0x0f, 0x09}}),
    [](const auto& info) { return std::string(dtype_name(info.param.dtype)); });

class PackedType : public ::testing::TestWithParam<DType> {};

TEST_P(PackedType, EveryLengthRoundTripsAndLeavesPaddingZero) {
  const DType dtype = GetParam();
  const int bits = dtype_bits(dtype);
  const std::int32_t low = dtype == DType::kInt4 ? -8 : 0;
  const std::int32_t high = low + (1 << bits) - 1;
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int32_t> pick(low, high);
  for (std::size_t count = 0; count <= 67; ++count) {
    std::vector<std::int32_t> values(count);
    for (auto& value : values) value = pick(random);
    std::vector<std::byte> packed(dtype_bytes(dtype, count), std::byte{0xff});
    pack_bits(values, dtype, packed);
    std::vector<std::int32_t> out(count, 99);
    unpack_bits(packed, dtype, out);
    ASSERT_EQ(out, values) << count;
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(unpack_bits(packed, dtype, i), values[i]);
    const std::size_t used = count * static_cast<std::size_t>(bits) % 8;
    if (used == 0) continue;
    ASSERT_EQ(static_cast<unsigned>(packed.back()) >> used, 0u) << count;
  }
}

TEST_P(PackedType, EveryValueSurvivesAtEveryPositionInAByte) {
  const DType dtype = GetParam();
  const std::int32_t low = dtype == DType::kInt4 ? -8 : 0;
  for (std::int32_t value = low; value < low + (1 << dtype_bits(dtype)); ++value) {
    for (std::size_t place = 0; place < 9; ++place) {
      std::vector<std::int32_t> values(9, 0);
      values[place] = value;
      std::vector<std::byte> packed(dtype_bytes(dtype, values.size()));
      pack_bits(values, dtype, packed);
      std::vector<std::int32_t> out(values.size());
      unpack_bits(packed, dtype, out);
      ASSERT_EQ(out, values);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackedType,
                         ::testing::Values(DType::kInt4, DType::kUInt1, DType::kUInt2,
                                           DType::kUInt3, DType::kUInt4, DType::kUInt6),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

}  // namespace
}  // namespace anemone
