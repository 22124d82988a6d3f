// SPDX-License-Identifier: Apache-2.0
#include "tensor/bits.h"

#include <algorithm>

#include "base/check.h"

namespace anemone {

std::int32_t unpack_bits(std::span<const std::byte> packed, DType dtype, std::uint64_t i) {
  const auto bits = static_cast<unsigned>(dtype_bits(dtype));
  const std::uint64_t first = i * bits;
  const std::size_t byte = static_cast<std::size_t>(first / 8);
  const unsigned shift = static_cast<unsigned>(first % 8);
  ANEMONE_DCHECK(byte < packed.size());
  unsigned window = static_cast<unsigned>(packed[byte]);
  if (shift + bits > 8) window |= static_cast<unsigned>(packed[byte + 1]) << 8;
  const unsigned value = (window >> shift) & ((1u << bits) - 1u);
  if (dtype == DType::kInt4) return static_cast<std::int32_t>(value ^ 8u) - 8;
  return static_cast<std::int32_t>(value);
}

void unpack_bits(std::span<const std::byte> packed, DType dtype, std::span<std::int32_t> out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = unpack_bits(packed, dtype, i);
}

void pack_bits(std::span<const std::int32_t> values, DType dtype, std::span<std::byte> out) {
  ANEMONE_CHECK(out.size() == dtype_bytes(dtype, values.size()));
  const auto bits = static_cast<unsigned>(dtype_bits(dtype));
  std::fill(out.begin(), out.end(), std::byte{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned value = static_cast<unsigned>(values[i]) & ((1u << bits) - 1u);
    const std::size_t first = i * bits;
    const unsigned shift = static_cast<unsigned>(first % 8);
    const unsigned window = value << shift;
    out[first / 8] |= static_cast<std::byte>(window & 0xffu);
    if (shift + bits > 8) out[first / 8 + 1] |= static_cast<std::byte>(window >> 8);
  }
}

}  // namespace anemone
