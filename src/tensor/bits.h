// SPDX-License-Identifier: Apache-2.0
// Sub-byte packing of Core ML: one flat bit stream over the row-major tensor, element i in bits
// [i*n, (i+1)*n), first element in the low bits of byte 0; 3- and 6-bit values straddle bytes. int4
// is a two's complement nibble.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace anemone {

// Element i of a packed stream of a sub-byte dtype, sign-extended for int4.
std::int32_t unpack_bits(std::span<const std::byte> packed, DType dtype, std::uint64_t i);
// All of `out.size()` elements.
void unpack_bits(std::span<const std::byte> packed, DType dtype, std::span<std::int32_t> out);
// Packs `values` (each in the dtype's range); `out` has dtype_bytes(dtype, values.size()) bytes and
// is overwritten, padding bits zero.
void pack_bits(std::span<const std::int32_t> values, DType dtype, std::span<std::byte> out);

}  // namespace anemone
