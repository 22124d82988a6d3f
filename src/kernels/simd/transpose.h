// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensor/half.h"

namespace anemone::kernels::simd {

// out [columns, rows] = in [rows, columns] transposed; they do not overlap. With vectors that every
// processor of its kind has. Thread-safe.
void transpose_matrix(const Half* in, std::int64_t rows, std::int64_t columns, Half* out);

}  // namespace anemone::kernels::simd
