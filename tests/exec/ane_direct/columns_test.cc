// SPDX-License-Identifier: Apache-2.0
#include "exec/ane_direct/columns.h"

#include <gtest/gtest.h>
#include <vector>

namespace anemone::exec::ane_direct::testing {
namespace {

const Port kPort{.name = {}, .rows = 2, .columns = 32, .row_bytes = 64, .bytes = 128};
constexpr Half kOld{0x1234};

std::vector<Half> numbers(std::uint16_t count) {
  std::vector<Half> out;
  for (std::uint16_t i = 1; i <= count; ++i) out.push_back(Half{i});
  return out;
}

struct Memory {
  std::vector<Half> halves = std::vector<Half>(70, kOld);  // more than the port has
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(halves)); }
};

TEST(Columns, PacksTokensWhoseChannelsLieApart) {
  const std::vector<Half> x = numbers(10);  // [2, 5]
  Memory surface;
  pack({x.data(), 5, 1}, 2, 3, kPort, surface.bytes());
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 32; ++c)
      EXPECT_EQ(surface.halves[r * 32 + c].bits, c < 3 ? 5 * r + 2 + c + 1 : 0) << r << " " << c;
  EXPECT_EQ(surface.halves[64], kOld);
}

TEST(Columns, PacksTokensWhoseChannelsLieSideBySide) {
  const std::vector<Half> x = numbers(10);  // [5, 2]
  Memory surface;
  pack({x.data(), 1, 2}, 1, 4, kPort, surface.bytes());
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 32; ++c)
      EXPECT_EQ(surface.halves[r * 32 + c].bits, c < 4 ? 2 * (c + 1) + r + 1 : 0) << r << " " << c;
}

TEST(Columns, UnpacksWhatWasPackedAndNothingElse) {
  const std::vector<Half> x = numbers(10);
  for (const auto& [row_stride, token_stride] :
       {std::pair<std::int64_t, std::int64_t>{5, 1}, {1, 2}}) {
    Memory surface;
    pack({x.data(), row_stride, token_stride}, 1, 3, kPort, surface.bytes());
    std::vector<Half> back(10, kOld);
    unpack(surface.bytes(), kPort, 1, 3, {back.data(), row_stride, token_stride});
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t t = 0; t < 5; ++t) {
        const auto at = static_cast<std::size_t>(r * row_stride + t * token_stride);
        EXPECT_EQ(back[at], t >= 1 && t < 4 ? x[at] : kOld) << r << " " << t;
      }
  }
}

TEST(Columns, UseAsManyBytesAsARowHas) {
  const std::vector<Half> x = numbers(2);  // [2, 1]
  Port wide = kPort;
  wide.row_bytes = 128;
  std::vector<Half> surface(128, kOld);
  pack({x.data(), 1, 1}, 0, 1, wide, std::as_writable_bytes(std::span(surface)));
  EXPECT_EQ(surface[0].bits, 1);
  EXPECT_EQ(surface[63].bits, 0);
  EXPECT_EQ(surface[64].bits, 2);
}

}  // namespace
}  // namespace anemone::exec::ane_direct::testing
