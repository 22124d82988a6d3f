// SPDX-License-Identifier: Apache-2.0
#include "values/orientation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace anemone::values {
namespace {

// A TIFF structure has numbers of either byte order, at offsets that its own numbers give. A number
// beyond the end reads as 0.
struct Tiff {
  std::span<const std::uint8_t> bytes;
  bool is_big_endian = false;

  std::uint32_t number(std::uint64_t at, std::uint64_t size) const {
    if (at + size > bytes.size()) return 0;
    std::uint32_t out = 0;
    for (std::uint64_t i = 0; i < size; ++i)
      out = out << 8 | bytes[at + (is_big_endian ? i : size - 1 - i)];
    return out;
  }
};

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kShort = 3;  // the type of its value
constexpr std::uint64_t kEntryBytes = 12;

}  // namespace

int exif_orientation(std::span<const std::uint8_t> segment) {
  constexpr std::array<std::uint8_t, 6> kExif = {'E', 'x', 'i', 'f', 0, 0};
  if (segment.size() < kExif.size() || !std::ranges::equal(kExif, segment.first(kExif.size())))
    return 1;
  Tiff tiff = {segment.subspan(kExif.size())};
  tiff.is_big_endian = tiff.number(0, 2) == 0x4D4D;  // "MM"; "II" is the other order
  if (tiff.number(2, 2) != 42) return 1;
  const std::uint64_t directory = tiff.number(4, 4);
  const std::uint32_t entries = tiff.number(directory, 2);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.bytes.size()) return 1;
    if (tiff.number(entry, 2) != kOrientationTag || tiff.number(entry + 2, 2) != kShort) continue;
    const std::uint32_t value = tiff.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void apply_orientation(int orientation, Picture& picture) {
  if (orientation <= 1 || orientation > 8) return;
  const bool is_transposed = orientation >= 5;
  const bool is_bottom_first =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool is_right_first =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  Picture out = {picture.height, picture.width, picture.channels, {}};
  if (is_transposed) std::swap(out.height, out.width);
  out.samples.reserve(picture.samples.size());
  for (std::int64_t y = 0; y < out.height; ++y)
    for (std::int64_t x = 0; x < out.width; ++x) {
      std::int64_t row = is_transposed ? x : y;
      std::int64_t column = is_transposed ? y : x;
      if (is_bottom_first) row = picture.height - 1 - row;
      if (is_right_first) column = picture.width - 1 - column;
      const std::int64_t from = (row * picture.width + column) * picture.channels;
      const auto pixel = picture.samples.begin() + static_cast<std::ptrdiff_t>(from);
      out.samples.insert(out.samples.end(), pixel, pixel + picture.channels);
    }
  picture = std::move(out);
}

}  // namespace anemone::values
