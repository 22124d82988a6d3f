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
  EXPECT_EQ(parse_png("no picture", "f").status().code(), Code::kCorrupt);
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
  EXPECT_EQ(parse_picture(file, "f").status().code(), Code::kUnsupported);
  const auto picture = parse_picture(file, "f", Transparency::kOverWhite);
  ASSERT_TRUE(picture.ok()) << picture.status().message();
  EXPECT_EQ(picture->samples, (std::vector<std::uint8_t>{255, 255, 255, 227, 177, 127}));
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
