// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::values {

// A file may have no more pixels than this.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

// A picture of 8 bits a sample, gray or red, green and blue.
struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 3;          // 1 or 3
  std::vector<std::uint8_t> samples;  // [height, width, channels]
};

// What becomes of pixels that are transparent, whole or in part.
enum class Transparency { kRefused, kOverWhite };

// Reads a PNG file or a JPEG file, whichever the first bytes say. The errors are those of
// parse_png() and parse_jpeg() (values/jpeg.h).
Result<Picture> parse_picture(std::string_view bytes, std::string_view subject,
                              Transparency transparency = Transparency::kRefused);

// A PNG file, by libpng. `subject` starts each error:
//   kCorrupt       no PNG file, or a damaged one
//   kUnsupported   a transparent pixel that is refused, more than 2^26 pixels, or a build without
//                  libpng
// Samples of 16 bits are scaled to 8, and rounded.
// Memory is bounded by the number of pixels.
Result<Picture> parse_png(std::string_view bytes, std::string_view subject,
                          Transparency transparency = Transparency::kRefused);

// The bytes of a PNG file. kUnsupported in a build without libpng, kInvalidArgument for a picture
// that PNG has no place for.
Result<std::string> png_bytes(const Picture& picture);

}  // namespace anemone::values
