// SPDX-License-Identifier: Apache-2.0
// What products of integers need for palettes of 64 and 256 entries. VBMI looks bytes up in
// tables of 64 and 128, each part in its own; without it the tables are of words, which are both
// parts of an entry. Both give the same parts, and so the same bits.
#pragma once

#include <cstdint>

#include "kernels/simd/int8_gemv.h"
#include "kernels/simd/int8_split_rows.h"

namespace anemone::kernels::simd::int8_split {

namespace vnni {
// RowBlock::expand() of such palettes.
void expand_palettes(const RowBlock& block, const RowBlock::Part& part);
// Int8Kernels::gemv() of such palettes.
void gemv_palettes(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const GemvColumns& columns, const GemvTarget& target);
}  // namespace vnni

namespace vbmi {
void expand_palettes(const RowBlock& block, const RowBlock::Part& part);
void gemv_palettes(const Matrix& matrix, std::int64_t begin, std::int64_t end,
                   const GemvColumns& columns, const GemvTarget& target);
}  // namespace vbmi

}  // namespace anemone::kernels::simd::int8_split
