// SPDX-License-Identifier: Apache-2.0
#include "values/fit.h"

#include <gtest/gtest.h>
#include <numeric>

namespace anemone::values {
namespace {

using Samples = std::vector<std::uint8_t>;

TEST(Fit, KeepsAPictureOfTheSameSize) {
  Picture picture{4, 5, 3, Samples(60)};
  std::iota(picture.samples.begin(), picture.samples.end(), std::uint8_t{7});
  const Picture same = fitted(picture, 4, 5);
  EXPECT_EQ(same.height, 4);
  EXPECT_EQ(same.width, 5);
  EXPECT_EQ(same.samples, picture.samples);
}

TEST(Fit, TakesTheMiddle) {
  // Rows of 0, 10, 10, 0: the outer quarters of the width go.
  const Picture wide{2, 4, 1, {0, 10, 10, 0, 0, 10, 10, 0}};
  EXPECT_EQ(fitted(wide, 2, 2).samples, Samples(4, 10));
  const Picture tall{4, 2, 1, {0, 0, 10, 10, 10, 10, 0, 0}};
  EXPECT_EQ(fitted(tall, 2, 2).samples, Samples(4, 10));
}

// Pillow's resize((2, 1), BILINEAR) gives the same values.
TEST(Fit, ShrinksByAWeightedMean) {
  const Picture stripes{2, 4, 1, {0, 200, 100, 100, 0, 200, 100, 100}};
  const Picture half = fitted(stripes, 1, 2);
  // Weights 3, 3, 1 of 0, 200, 100, and 1, 3, 3 of 200, 100, 100.
  EXPECT_EQ(half.samples, (Samples{100, 114}));
}

// Pillow's resize((4, 2), BILINEAR) gives the same values.
TEST(Fit, EnlargesBetweenPixels) {
  const Picture two{1, 2, 1, {0, 100}};
  EXPECT_EQ(fitted(two, 2, 4).samples, (Samples{0, 25, 75, 100, 0, 25, 75, 100}));
}

TEST(Fit, KeepsColorsApart) {
  Picture plain{8, 6, 3, {}};
  for (int i = 0; i < 48; ++i) plain.samples.insert(plain.samples.end(), {1, 128, 255});
  const Picture small = fitted(plain, 3, 5);
  ASSERT_EQ(small.samples.size(), 45U);
  for (std::size_t i = 0; i < small.samples.size(); i += 3)
    EXPECT_EQ(Samples(small.samples.begin() + static_cast<std::ptrdiff_t>(i),
                      small.samples.begin() + static_cast<std::ptrdiff_t>(i) + 3),
              (Samples{1, 128, 255}));
}

TEST(Fit, TakesSizesThatAreFarApart) {
  EXPECT_EQ(fitted(Picture{1, 1, 1, {9}}, 5, 7).samples, Samples(35, 9));
  EXPECT_EQ(fitted(Picture{1, 999, 1, Samples(999, 9)}, 999, 1).samples, Samples(999, 9));
}

}  // namespace
}  // namespace anemone::values
