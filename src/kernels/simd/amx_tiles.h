// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace anemone::kernels::simd::amx {

// Sets up the tile registers of this thread, eight of 16 rows of 64 bytes; the destructor releases
// them.
class Tiles {
 public:
  Tiles();
  ~Tiles();
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

}  // namespace anemone::kernels::simd::amx
