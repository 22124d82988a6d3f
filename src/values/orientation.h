// SPDX-License-Identifier: Apache-2.0
// The way a camera was held, which a photograph has in its Exif data (CIPA DC-008, "Orientation").
#pragma once

#include <cstdint>
#include <span>

#include "values/picture.h"

namespace anemone::values {

// Reads the orientation, 1 to 8, from the contents of an APP1 segment of a JPEG file. Gives 1,
// which changes nothing, for everything else, whatever the bytes are.
int exif_orientation(std::span<const std::uint8_t> segment);

// Mirrors and rotates a picture so that it stands as it was seen.
void apply_orientation(int orientation, Picture& picture);

}  // namespace anemone::values
