// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "values/picture.h"

namespace anemone::values {

// Scales the largest part in the middle of a picture that has the proportions of the new size. Each
// new sample is the mean of those around its place, weighted by a triangle that is as wide as two
// pixels of the coarser of the two sizes, so that shrinking leaves nothing out. No side of either
// size may be 0. Memory and time grow with the pixels of both sizes.
Picture fitted(const Picture& picture, std::int64_t height, std::int64_t width);

}  // namespace anemone::values
