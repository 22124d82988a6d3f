// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <array>

#include "base/check.h"

namespace anemone {
namespace {

enum class Kind : std::uint8_t { kOther, kFloat, kInteger };

struct Row {
  DType dtype;
  std::string_view name;
  int bits;
  Kind kind;
};

constexpr std::array<Row, 20> kRows = {{
    {DType::kBool, "bool", 8, Kind::kOther},        {DType::kString, "string", 0, Kind::kOther},
    {DType::kFp16, "fp16", 16, Kind::kFloat},       {DType::kFp32, "fp32", 32, Kind::kFloat},
    {DType::kFp64, "fp64", 64, Kind::kFloat},       {DType::kBf16, "bf16", 16, Kind::kFloat},
    {DType::kInt4, "int4", 4, Kind::kInteger},      {DType::kInt8, "int8", 8, Kind::kInteger},
    {DType::kInt16, "int16", 16, Kind::kInteger},   {DType::kInt32, "int32", 32, Kind::kInteger},
    {DType::kInt64, "int64", 64, Kind::kInteger},   {DType::kUInt1, "uint1", 1, Kind::kInteger},
    {DType::kUInt2, "uint2", 2, Kind::kInteger},    {DType::kUInt3, "uint3", 3, Kind::kInteger},
    {DType::kUInt4, "uint4", 4, Kind::kInteger},    {DType::kUInt6, "uint6", 6, Kind::kInteger},
    {DType::kUInt8, "uint8", 8, Kind::kInteger},    {DType::kUInt16, "uint16", 16, Kind::kInteger},
    {DType::kUInt32, "uint32", 32, Kind::kInteger}, {DType::kUInt64, "uint64", 64, Kind::kInteger},
}};

constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  return true;
}
static_assert(rows_in_order());

const Row& row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  ANEMONE_CHECK(index < kRows.size());
  return kRows[index];
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return row(dtype).name;
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (const Row& entry : kRows)
    if (entry.name == name) return entry.dtype;
  return std::nullopt;
}

int dtype_bits(DType dtype) {
  return row(dtype).bits;
}

std::uint64_t dtype_bytes(DType dtype, std::uint64_t count) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(dtype));
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

bool is_float(DType dtype) {
  return row(dtype).kind == Kind::kFloat;
}
bool is_integer(DType dtype) {
  return row(dtype).kind == Kind::kInteger;
}
bool is_sub_byte(DType dtype) {
  return row(dtype).bits > 0 && row(dtype).bits < 8;
}

}  // namespace anemone
