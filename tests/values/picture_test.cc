// SPDX-License-Identifier: Apache-2.0
#include "values/picture.h"

#include <gtest/gtest.h>
#include <string>

namespace anemone::values {
namespace {

#ifdef ANEMONE_HAS_PNG

Picture gradient(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Picture out{height, width, channels, {}};
  for (std::int64_t i = 0; i < height * width * channels; ++i)
    out.samples.push_back(static_cast<std::uint8_t>(i * 7));
  return out;
}

TEST(Picture, ComesBackFromItsFile) {
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture = gradient(4, 5, channels);
    const auto bytes = png_bytes(picture);
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    const auto back = parse_png(*bytes, "f");
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->height, 4);
    EXPECT_EQ(back->width, 5);
    EXPECT_EQ(back->channels, channels);
    EXPECT_EQ(back->samples, picture.samples);
  }
}

TEST(Picture, RefusesDamagedFiles) {
  const auto bytes = png_bytes(gradient(9, 9, 3));
  ASSERT_TRUE(bytes.ok());
  const Status other = parse_picture("no picture", "f").status();
  EXPECT_EQ(other.code(), Code::kCorrupt);
  EXPECT_EQ(other.message(), "[f] expected a PNG or JPEG file, got a file of another kind");
  EXPECT_TRUE(parse_picture(bytes->substr(0, 20), "f")
                  .status()
                  .message()
                  .starts_with("[f] expected a whole PNG file, got a damaged one: "));
  // The last 12 bytes only say that this is the end.
  for (std::size_t size = 0; size + 12 < bytes->size(); ++size)
    EXPECT_EQ(parse_png(bytes->substr(0, size), "f").status().code(), Code::kCorrupt) << size;
}

// A file of two pixels: red, green, blue and alpha are 10, 20, 30, 0 and 200, 100, 0, 128.
TEST(Picture, TakesTransparentPixelsOverWhiteWhereItIsAsked) {
  constexpr unsigned char kFile[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44,
      0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00, 0x00, 0xf4,
      0x22, 0x7f, 0x8a, 0x00, 0x00, 0x00, 0x11, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xe0,
      0x12, 0x91, 0x63, 0x38, 0x91, 0xc2, 0xd0, 0x00, 0x00, 0x06, 0x65, 0x01, 0xe9, 0xc6, 0x22,
      0xd7, 0x22, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const std::string file(reinterpret_cast<const char*>(kFile), sizeof(kFile));
  const Status refused = parse_picture(file, "f").status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_NE(refused.message().find("FILE.png:fit blends it with white"), std::string_view::npos)
      << refused.message();
  const auto picture = parse_picture(file, "f", Transparency::kOverWhite);
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->samples, (std::vector<std::uint8_t>{255, 255, 255, 227, 177, 127}));
}

// Files without a word on their gamma. Gray: 0, 128, 129, 0x8000, 0xfeff, 0xffff. Colors: two
// pixels, 0x0102, 0xc8c8, 0x64ff and 0xffff, 0, 1000.
TEST(Picture, ScalesSixteenBitsToEight) {
  constexpr unsigned char kGray[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49,
      0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0x01, 0x10, 0x00,
      0x00, 0x00, 0x00, 0x88, 0x32, 0x5c, 0x6f, 0x00, 0x00, 0x00, 0x15, 0x49, 0x44,
      0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x60, 0x60, 0x68, 0x60, 0x68, 0x6c, 0x60,
      0xf8, 0xf7, 0xff, 0xff, 0x7f, 0x00, 0x15, 0x06, 0x05, 0x7d, 0x13, 0xd3, 0x66,
      0x71, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  constexpr unsigned char kColors[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49,
      0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x10, 0x02,
      0x00, 0x00, 0x00, 0x2b, 0xd0, 0x34, 0x9e, 0x00, 0x00, 0x00, 0x15, 0x49, 0x44,
      0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x64, 0x3a, 0x71, 0x22, 0xe5, 0xff, 0xff,
      0xff, 0x0c, 0x0c, 0xcc, 0x2f, 0x00, 0x25, 0x03, 0x05, 0xe0, 0x12, 0xde, 0xaf,
      0x81, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const auto gray =
      parse_png(std::string_view(reinterpret_cast<const char*>(kGray), sizeof(kGray)), "f");
  ASSERT_TRUE(gray.ok()) << gray.status().message();
  EXPECT_EQ(gray->samples, (std::vector<std::uint8_t>{0, 0, 1, 128, 254, 255}));
  const auto colors =
      parse_png(std::string_view(reinterpret_cast<const char*>(kColors), sizeof(kColors)), "f");
  ASSERT_TRUE(colors.ok()) << colors.status().message();
  EXPECT_EQ(colors->samples, (std::vector<std::uint8_t>{1, 200, 101, 255, 0, 4}));
}

TEST(Picture, RefusesAPictureWithoutPixels) {
  EXPECT_FALSE(png_bytes(Picture{}).ok());
}

#else

TEST(Picture, IsRefusedWithoutTheLibrary) {
  EXPECT_EQ(parse_png("", "f").status().code(), Code::kUnsupported);
  EXPECT_EQ(png_bytes(Picture{1, 1, 1, {0}}).status().code(), Code::kUnsupported);
}

#endif

}  // namespace
}  // namespace anemone::values
