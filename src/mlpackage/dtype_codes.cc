// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/dtype_codes.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace anemone::mlpackage {
namespace {

struct Row {
  DType dtype;
  std::int32_t mil;
  std::uint32_t blob;  // 0: cannot lie in a weight file
};

constexpr std::array<Row, 20> kRows = {{
    {DType::kBool, 1, 0},    {DType::kString, 2, 0},   {DType::kFp16, 10, 1},
    {DType::kFp32, 11, 2},   {DType::kFp64, 12, 0},    {DType::kBf16, 13, 5},
    {DType::kInt8, 21, 4},   {DType::kInt16, 22, 6},   {DType::kInt32, 23, 14},
    {DType::kInt64, 24, 0},  {DType::kInt4, 25, 8},    {DType::kUInt8, 31, 3},
    {DType::kUInt16, 32, 7}, {DType::kUInt32, 33, 15}, {DType::kUInt64, 34, 0},
    {DType::kUInt4, 35, 11}, {DType::kUInt2, 36, 10},  {DType::kUInt1, 37, 9},
    {DType::kUInt6, 38, 13}, {DType::kUInt3, 39, 12},
}};

// Kind in the upper half (1: float, 2: integer), bits in the lower.
struct ArrayRow {
  DType dtype;
  std::int32_t code;
};
constexpr std::array<ArrayRow, 5> kArrayRows = {{
    {DType::kFp16, 0x10010},
    {DType::kFp32, 0x10020},
    {DType::kFp64, 0x10040},
    {DType::kInt8, 0x20008},
    {DType::kInt32, 0x20020},
}};

const Row& row_of(DType dtype) {
  const auto it =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.dtype == dtype; });
  ANEMONE_CHECK(it != kRows.end());
  return *it;
}

}  // namespace

std::optional<DType> dtype_of_mil_code(std::int32_t code) {
  for (const Row& row : kRows)
    if (row.mil == code) return row.dtype;
  return std::nullopt;
}

std::int32_t mil_code(DType dtype) {
  return row_of(dtype).mil;
}

std::optional<DType> dtype_of_blob_code(std::uint32_t code) {
  if (code == 0) return std::nullopt;
  for (const Row& row : kRows)
    if (row.blob == code) return row.dtype;
  return std::nullopt;
}

std::optional<std::uint32_t> blob_code(DType dtype) {
  const std::uint32_t code = row_of(dtype).blob;
  if (code == 0) return std::nullopt;
  return code;
}

std::optional<DType> dtype_of_array_code(std::int32_t code) {
  for (const ArrayRow& row : kArrayRows)
    if (row.code == code) return row.dtype;
  return std::nullopt;
}

std::optional<std::int32_t> array_code(DType dtype) {
  for (const ArrayRow& row : kArrayRows)
    if (row.dtype == dtype) return row.code;
  return std::nullopt;
}

}  // namespace anemone::mlpackage
