// SPDX-License-Identifier: Apache-2.0
#include "values/jpeg.h"

#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/shared_data.h"
#include "values/orientation.h"

namespace anemone::values {
namespace {

// An APP1 segment of a JPEG file whose Exif data have this orientation after another entry.
std::string exif_segment(bool is_big_endian, int orientation) {
  const auto number = [&](unsigned value, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t shift = 8 * (is_big_endian ? size - 1 - i : i);
      out += static_cast<char>(value >> shift & 255U);
    }
    return out;
  };
  std::string out("Exif\0\0", 6);
  out += (is_big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2);
  out += number(0x010F, 2) + number(2, 2) + number(1, 4) + number(0, 4);  // the maker, ""
  out += number(0x0112, 2) + number(3, 2) + number(1, 4);
  out += number(static_cast<unsigned>(orientation), 2) + number(0, 2);
  return out + number(0, 4);
}

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(ExifOrientation, IsReadInBothByteOrders) {
  for (const bool is_big_endian : {false, true}) {
    for (int orientation = 1; orientation <= 8; ++orientation)
      EXPECT_EQ(exif_orientation(bytes_of(exif_segment(is_big_endian, orientation))), orientation);
    for (const int unknown : {0, 9, 65535})
      EXPECT_EQ(exif_orientation(bytes_of(exif_segment(is_big_endian, unknown))), 1);
    // A segment that ends anywhere before its value has none.
    const std::string whole = exif_segment(is_big_endian, 6);
    for (std::size_t size = 0; size + 8 <= whole.size(); ++size)
      EXPECT_EQ(exif_orientation(bytes_of(whole.substr(0, size))), 1) << size;
  }
  EXPECT_EQ(exif_orientation(bytes_of("http://ns.adobe.com/xap/1.0/")), 1);
}

TEST(Orientation, MovesTheCornersToWhereTheyWereSeen) {
  // Which of the corners 0 1 / 2 3 of the stored picture is at the top left and at the top right:
  // "the 0th row is the visual right side of the image, the 0th column the visual top" for 6.
  constexpr std::array<std::array<std::uint8_t, 2>, 8> kTop = {
      {{0, 1}, {1, 0}, {3, 2}, {2, 3}, {0, 2}, {2, 0}, {3, 1}, {1, 3}}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    // Two rows of three pixels of three channels, each filled with the number of its corner.
    Picture picture{2, 3, 3, {}};
    for (const std::uint8_t pixel : std::array<std::uint8_t, 6>{0, 9, 1, 2, 9, 3})
      picture.samples.insert(picture.samples.end(), 3, pixel);
    apply_orientation(orientation, picture);
    const bool is_upright = orientation >= 5;
    ASSERT_EQ(picture.width, is_upright ? 2 : 3);
    ASSERT_EQ(picture.height, is_upright ? 3 : 2);
    ASSERT_EQ(picture.samples.size(), 18U);
    const auto& top = kTop[static_cast<std::size_t>(orientation - 1)];
    EXPECT_EQ(picture.samples.front(), top[0]) << orientation;
    EXPECT_EQ(picture.samples[static_cast<std::size_t>(picture.width) * 3 - 1], top[1])
        << orientation;
    EXPECT_EQ(picture.samples.back(), 3 - top[0]) << orientation;
  }
}

#ifdef ANEMONE_HAS_JPEG

std::string jpeg(const std::string& name) {
  const auto bytes =
      read_file(anemone::testing::source_path("fuzz/corpus/picture/" + name), 1 << 20);
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : "";
}

// The colors of the quarters (make_jpeg.py).
constexpr std::array<std::array<int, 3>, 4> kColors = {
    {{200, 30, 20}, {20, 180, 60}, {30, 60, 190}, {220, 220, 210}}};

// Expects a pixel to have about this color.
void expect_color(const Picture& picture, std::int64_t y, std::int64_t x,
                  const std::array<int, 3>& color, int tolerance = 3) {
  for (std::int64_t c = 0; c < 3; ++c) {
    const int sample = picture.samples[static_cast<std::size_t>((y * picture.width + x) * 3 + c)];
    EXPECT_LE(std::abs(sample - color[static_cast<std::size_t>(c)]), tolerance)
        << y << " " << x << " " << c << ": " << sample;
  }
}

TEST(Jpeg, HasTheColorsThatWereWritten) {
  for (const char* name : {"rgb.jpg", "progressive.jpg"}) {
    SCOPED_TRACE(name);
    const auto picture = parse_picture(jpeg(name), "f");
    ASSERT_TRUE(picture.ok()) << picture.status().message();
    ASSERT_EQ(picture->height, 16);
    ASSERT_EQ(picture->width, 32);
    ASSERT_EQ(picture->channels, 3);
    for (const std::int64_t y : {0, 7, 8, 15})
      for (const std::int64_t x : {0, 15, 16, 31})
        expect_color(*picture, y, x, kColors[static_cast<std::size_t>(y / 8 * 2 + x / 16)]);
  }
  const auto subsampled = parse_jpeg(jpeg("subsampled.jpg"), "f");
  ASSERT_TRUE(subsampled.ok()) << subsampled.status().message();
  EXPECT_EQ(subsampled->samples.size(), 16U * 32U * 3U);
  const auto gray = parse_jpeg(jpeg("gray.jpg"), "f");
  ASSERT_TRUE(gray.ok()) << gray.status().message();
  EXPECT_EQ(gray->channels, 1);
  EXPECT_EQ(gray->samples.size(), 16U * 32U);
  EXPECT_NEAR(gray->samples[0], 80, 3);  // 0.299 * 200 + 0.587 * 30 + 0.114 * 20
}

TEST(Jpeg, StandsAsItsExifDataSay) {
  const auto rotated = parse_jpeg(jpeg("rotated.jpg"), "f");  // orientation 6
  ASSERT_TRUE(rotated.ok()) << rotated.status().message();
  ASSERT_EQ(rotated->width, 16);
  ASSERT_EQ(rotated->height, 32);
  expect_color(*rotated, 0, 0, kColors[2]);
  expect_color(*rotated, 0, 15, kColors[0]);
  expect_color(*rotated, 31, 0, kColors[3]);
  expect_color(*rotated, 31, 15, kColors[1]);
}

TEST(Jpeg, RefusesWhatIsNotWhole) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "gray.jpg"}) {
    const std::string whole = jpeg(name);
    // The last two bytes say that this is the end.
    for (std::size_t size = 0; size + 2 < whole.size(); ++size)
      EXPECT_EQ(parse_jpeg(whole.substr(0, size), "f").status().code(), Code::kCorrupt)
          << name << " " << size;
  }
  const auto refused = parse_picture("\xFF\xD8 and no more", "f");
  EXPECT_EQ(refused.status().code(), Code::kCorrupt);
  EXPECT_TRUE(refused.status().message().starts_with("[f] expected a JPEG file, got a damaged one"))
      << refused.status().message();
}

TEST(Jpeg, RefusesOtherColors) {
  const auto cmyk = parse_jpeg(jpeg("cmyk.jpg"), "f");
  EXPECT_EQ(cmyk.status().code(), Code::kUnsupported);
  EXPECT_EQ(
      cmyk.status().message(),
      "[f] expected a JPEG file of gray or of red, green and blue, got CMYK: convert it first");
}

// The size that a header claims is looked at before anything is made for it.
TEST(Jpeg, RefusesMorePixelsThanThereMayBe) {
  std::string bomb = jpeg("rgb.jpg");
  const std::size_t frame = bomb.find("\xFF\xC0");
  ASSERT_NE(frame, bomb.npos);
  for (std::size_t i = 5; i < 9; ++i) bomb[frame + i] = '\x7F';  // 32,639 x 32,639
  const auto refused = parse_jpeg(bomb, "f");
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("32639 x 32639"), std::string::npos)
      << refused.status().message();
}

// A gray picture of 8 x 8 in so many scans: after the first, each sends one more bit of one
// coefficient of its only block, which is 0.
std::string progressive(int scans) {
  using std::string_literals::operator""s;
  std::string file = "\xFF\xD8\xFF\xDB\0\x43\0"s + std::string(64, '\1');  // all steps are 1
  file += "\xFF\xC2\0\x0B\x08\0\x08\0\x08\1\1\x11\0"s;
  for (const char table : {'\0', '\x10'})  // one code of one bit, for 0 or the end of a block
    file += "\xFF\xC4\0\x14"s + table + '\1' + std::string(16, '\0');
  for (int i = 0; i < scans; ++i) {
    const int bit = 13 - (i - 1) % 14;
    const int before = bit == 13 ? 0 : bit + 1;
    const char coefficient = static_cast<char>(i == 0 ? 0 : 1 + (i - 1) / 14);
    file += "\xFF\xDA\0\x08\1\1\0"s + coefficient + coefficient;
    file += static_cast<char>(i == 0 ? 0 : before << 4 | bit);
    file += '\x7F';
  }
  return file + "\xFF\xD9";
}

// Each scan of a progressive file goes over all pixels: a small file must not ask for thousands.
TEST(Jpeg, RefusesMoreScansThanThereMayBe) {
  const auto most = parse_jpeg(progressive(100), "f");
  ASSERT_TRUE(most.ok()) << most.status().message();
  EXPECT_EQ(most->samples, std::vector<std::uint8_t>(64, 128));
  const auto refused = parse_jpeg(progressive(101), "f");
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_EQ(refused.status().message(), "[f] expected at most 100 scans, got more");
}

#else

TEST(Jpeg, IsRefusedWithoutTheLibrary) {
  EXPECT_EQ(parse_jpeg("\xFF\xD8", "f").status().code(), Code::kUnsupported);
}

#endif

}  // namespace
}  // namespace anemone::values
