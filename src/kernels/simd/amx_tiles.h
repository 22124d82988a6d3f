// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace anemone::kernels::simd::amx {

// Sets the tile registers of this thread up, eight of 16 rows of 64 bytes, and gives them back.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

}  // namespace anemone::kernels::simd::amx
