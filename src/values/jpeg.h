// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "values/picture.h"

namespace anemone::values {

// True for bytes that begin as a JPEG file does.
bool is_jpeg(std::string_view bytes);

// Decodes a grayscale or color JPEG file with libjpeg-turbo. The picture is turned as its Exif
// orientation says, as Core ML reads a file ("Orientation is read from Exif",
// featureValueWithImageAtURL:pixelsWide:... in Apple's MLFeatureValue+MLImageConversion.h).
// `subject` starts each error:
//   - kCorrupt for no JPEG file, or a damaged one;
//   - kUnsupported for CMYK or other colors, more than 8 bits a sample, more than kMostPixels, more
//     than 100 scans, or in a build without libjpeg.
// Memory is bounded by the number of pixels, time by that of pixels and scans.
Result<Picture> parse_jpeg(std::string_view bytes, std::string_view subject);

}  // namespace anemone::values
