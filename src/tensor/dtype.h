// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace anemone {

// Element types of MIL, safetensors and the weight blob together. The values are our own: each
// format maps them in its own module.
enum class DType : std::uint8_t {
  kBool,
  kString,
  kFp16,
  kFp32,
  kFp64,
  kBf16,
  kInt4,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt1,
  kUInt2,
  kUInt3,
  kUInt4,
  kUInt6,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
};

// MIL's own spelling: "fp16", "int32", "bool", "string", "uint4", ...
std::string_view dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

// Bits of one element as packed in a file; bool is 8, string 0 (no fixed size).
int dtype_bits(DType dtype);
// Bytes that `count` elements take, packed; the last byte of a sub-byte type is padded with zero
// bits.
std::uint64_t dtype_bytes(DType dtype, std::uint64_t count);

bool is_float(DType dtype);
bool is_integer(DType dtype);  // signed or unsigned, any width; not bool
// Narrower than a byte: packed as one flat bit stream, first element in the low bits.
bool is_sub_byte(DType dtype);

}  // namespace anemone
