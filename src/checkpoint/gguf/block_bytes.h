// SPDX-License-Identifier: Apache-2.0
// Reading parts of a block: little-endian, not aligned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/half.h"

namespace anemone::checkpoint::gguf {

inline std::uint32_t byte_at(const std::byte* in, std::size_t i) {
  return std::to_integer<std::uint32_t>(in[i]);
}

inline std::uint32_t u16_at(const std::byte* in, std::size_t offset) {
  return byte_at(in, offset) | byte_at(in, offset + 1) << 8;
}

inline std::uint32_t u32_at(const std::byte* in, std::size_t offset) {
  return u16_at(in, offset) | u16_at(in, offset + 2) << 16;
}

inline float half_at(const std::byte* in, std::size_t offset) {
  return to_float(Half{static_cast<std::uint16_t>(u16_at(in, offset))});
}

// Four bits: the low ones of the first half of the bytes are the first values.
inline std::uint32_t nibble_of_halves(const std::byte* in, std::size_t i, std::size_t half) {
  return i < half ? byte_at(in, i) & 15U : byte_at(in, i - half) >> 4;
}

inline std::int8_t quant(std::uint32_t code, int shift = 0) {
  return static_cast<std::int8_t>(static_cast<int>(code) + shift);
}

}  // namespace anemone::checkpoint::gguf
