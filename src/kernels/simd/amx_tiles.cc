// SPDX-License-Identifier: Apache-2.0
#if defined(__x86_64__)
#include "kernels/simd/amx_tiles.h"

#include <cstdint>
#include <immintrin.h>

namespace anemone::kernels::simd::amx {
namespace {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
constexpr TileConfig kConfig;

}  // namespace

Tiles::Tiles() {
  _tile_loadconfig(&kConfig);
}

Tiles::~Tiles() {
  _tile_release();
}

}  // namespace anemone::kernels::simd::amx
#endif
