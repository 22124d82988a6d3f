// SPDX-License-Identifier: Apache-2.0
#include "base/byte_reader.h"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace anemone {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i + 1);
  return bytes;
}

TEST(ByteReader, ReadsLittleEndianScalarsInOrder) {
  const auto bytes = counting(15);
  ByteReader reader(bytes, "f");
  EXPECT_EQ(*reader.read<std::uint8_t>(), 0x01);
  EXPECT_EQ(*reader.read<std::uint16_t>(), 0x0302);
  EXPECT_EQ(*reader.read<std::uint32_t>(), 0x07060504u);
  EXPECT_EQ(*reader.read<std::uint64_t>(), 0x0f0e0d0c0b0a0908u);
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(ByteReader, ReadsSignedAndFloatingValues) {
  const std::array<std::uint8_t, 5> raw = {0xff, 0x00, 0x00, 0x80, 0xbf};
  ByteReader reader(std::as_bytes(std::span(raw)), "f");
  EXPECT_EQ(*reader.read<std::int8_t>(), -1);
  EXPECT_EQ(*reader.read<float>(), -1.0f);
}

TEST(ByteReader, RefusesAScalarPastTheEndAndStaysWhereItWas) {
  const auto bytes = counting(7);
  ByteReader reader(bytes, "model.bin");
  ASSERT_TRUE(reader.seek(4).ok());
  const auto result = reader.read<std::uint32_t>();
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kCorrupt);
  EXPECT_EQ(result.status().message(), "[model.bin] expected 4 more bytes at offset 4, got 3");
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_EQ(*reader.read<std::uint16_t>(), 0x0605);
}

TEST(ByteReader, TakesViewsWithoutCopying) {
  const auto bytes = counting(10);
  ByteReader reader(bytes, "f");
  const auto part = reader.take(4);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->data(), bytes.data());
  EXPECT_EQ(part->size(), 4u);
  EXPECT_EQ(reader.offset(), 4u);
  EXPECT_EQ(reader.take(6)->size(), 6u);
  EXPECT_EQ(reader.take(0)->size(), 0u);
}

TEST(ByteReader, RefusesSizesThatWouldOverflowTheOffset) {
  const auto bytes = counting(10);
  ByteReader reader(bytes, "f");
  ASSERT_TRUE(reader.seek(5).ok());
  for (const std::uint64_t size :
       {std::uint64_t{6}, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max(),
        std::numeric_limits<std::uint64_t>::max() - 4}) {
    EXPECT_EQ(reader.take(size).status().code(), Code::kCorrupt) << size;
    EXPECT_EQ(reader.take_text(size).status().code(), Code::kCorrupt) << size;
    EXPECT_EQ(reader.offset(), 5u);
  }
}

TEST(ByteReader, SeeksUpToTheEndAndNoFurther) {
  const auto bytes = counting(3);
  ByteReader reader(bytes, "f");
  EXPECT_TRUE(reader.seek(3).ok());
  EXPECT_EQ(reader.remaining(), 0u);
  const Status status = reader.seek(4);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(), "[f] offset 4 lies past the end (3 bytes)");
  EXPECT_EQ(reader.offset(), 3u);
  EXPECT_EQ(reader.seek(std::numeric_limits<std::uint64_t>::max()).code(), Code::kCorrupt);
}

TEST(ByteReader, TakesTextWithZeroBytes) {
  const std::string text("a\0b", 3);
  ByteReader reader(std::as_bytes(std::span(text)), "f");
  EXPECT_EQ(*reader.take_text(3), std::string_view("a\0b", 3));
}

TEST(ByteReader, AnEmptyInputHasNothingToRead) {
  ByteReader reader({}, "f");
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_FALSE(reader.read<std::uint8_t>().ok());
  EXPECT_TRUE(reader.take(0).ok());
  EXPECT_EQ(*reader.take_text(0), "");
}

}  // namespace
}  // namespace anemone
