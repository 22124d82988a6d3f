// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace anemone {
namespace {

constexpr int kTypes = static_cast<int>(DType::kUInt64) + 1;

TEST(DType, NamesAreUniqueAndParseBack) {
  std::set<std::string> names;
  for (int i = 0; i < kTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_TRUE(names.insert(std::string(dtype_name(dtype))).second) << dtype_name(dtype);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
}

TEST(DType, UnknownNamesAreNotParsed) {
  for (const char* name : {"", "f32", "FP32", "fp32 ", "float32", "int5", "uint", "i8"})
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
}

TEST(DType, BitsFollowFromTheName) {
  for (int i = 0; i < kTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(dtype_name(dtype));
    const auto digit = name.find_first_of("0123456789");
    if (digit == std::string::npos) continue;
    EXPECT_EQ(dtype_bits(dtype), std::stoi(name.substr(digit)));
  }
  EXPECT_EQ(dtype_bits(DType::kBool), 8);
  EXPECT_EQ(dtype_bits(DType::kString), 0);
}

TEST(DType, BytesRoundSubByteTypesUp) {
  EXPECT_EQ(dtype_bytes(DType::kFp16, 5), 10u);
  EXPECT_EQ(dtype_bytes(DType::kInt64, 3), 24u);
  EXPECT_EQ(dtype_bytes(DType::kBool, 3), 3u);
  EXPECT_EQ(dtype_bytes(DType::kInt4, 7), 4u);
  EXPECT_EQ(dtype_bytes(DType::kUInt3, 9), 4u);
  EXPECT_EQ(dtype_bytes(DType::kUInt6, 4), 3u);
  EXPECT_EQ(dtype_bytes(DType::kUInt1, 8), 1u);
  EXPECT_EQ(dtype_bytes(DType::kUInt1, 9), 2u);
  for (int i = 0; i < kTypes; ++i) EXPECT_EQ(dtype_bytes(static_cast<DType>(i), 0), 0u);
}

TEST(DType, BytesOfTheLargestTensorDoNotOverflow) {
  EXPECT_EQ(dtype_bytes(DType::kFp64, std::uint64_t{1} << 48), std::uint64_t{1} << 51);
}

TEST(DType, EachTypeBelongsToAtMostOneFamily) {
  for (int i = 0; i < kTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_FALSE(is_float(dtype) && is_integer(dtype));
    EXPECT_TRUE(is_float(dtype) || is_integer(dtype) || dtype == DType::kBool ||
                dtype == DType::kString);
    EXPECT_EQ(is_sub_byte(dtype), dtype_bits(dtype) > 0 && dtype_bits(dtype) < 8);
  }
  EXPECT_TRUE(is_float(DType::kBf16));
  EXPECT_TRUE(is_integer(DType::kInt4));
  EXPECT_TRUE(is_integer(DType::kUInt1));
}

}  // namespace
}  // namespace anemone
