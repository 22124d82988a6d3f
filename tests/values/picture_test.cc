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
