// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string_view>

#include "values/picture.h"

namespace anemone::values {

// Whether this is how a JPEG file begins.
bool is_jpeg(std::string_view bytes);

// A JPEG file, by libjpeg-turbo, gray or of colors. It stands as its Exif orientation says, as Core
// ML reads a file ("Orientation is read from Exif", featureValueWithImageAtURL:pixelsWide:... in
// Apple's MLFeatureValue+MLImageConversion.h). `subject` starts each error:
//   kCorrupt       no JPEG file, or a damaged one
//   kUnsupported   CMYK or other colors, more than 8 bits a sample, more than 2^26 pixels, more
//   than
//                  100 scans, or a build without libjpeg
// Memory is bounded by the number of pixels, time by that of pixels and scans.
Result<Picture> parse_jpeg(std::string_view bytes, std::string_view subject);

}  // namespace anemone::values
