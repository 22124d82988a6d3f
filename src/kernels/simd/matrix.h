// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/half.h"

namespace anemone::kernels::simd {

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// A weight matrix [rows, k] as it lies in a package, row-major: `rows` output features of `k` input
// features, which is the depth of a product with activations [k, n]. A view: the bytes outlive it.
struct Matrix {
  enum class Form {
    kFloat,    // fp32
    kHalf,     // fp16
    kInt8,     // scale * (q - offset)
    kInt4,     // the same of nibbles, first element low, two's complement
    kPalette,  // indices of `bits` into a palette of fp16
  };

  Form form = Form::kHalf;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  const std::byte* data = nullptr;

  // Statistics of the rows that products in integers need (Int8Kernels::compute_row_stats);
  // nullptr: not computed.
  const std::byte* row_stats = nullptr;

  // kInt8, kInt4: the block_rows x block_k elements of a scale block share a scale. The scale of
  // element (r, i) is scales[r / block_rows * (k / block_k) + i / block_k].
  const Half* scales = nullptr;
  // What the integers of a scale block lie off, in the order of the scales; nullptr: nothing. The
  // products leave it out: subtract_offsets() of Kernels follows them.
  const Half* offsets = nullptr;
  std::int64_t block_rows = 1;
  std::int64_t block_k = 1;

  // kPalette: entry i of row r is palette[(r / group << bits) + i].
  const Half* palette = nullptr;
  int bits = 8;  // of an element of `data`, whatever the form; 32, 16, 8, 6 or 4
  std::int64_t group = 1;

  std::int64_t row_bytes() const { return k * bits / 8; }
  // "fp16", "int8", "int8-block" where parts of a row have scales of their own, "lut4", ...
  std::string_view form_name() const;
  // Bytes of everything that a product reads: elements, scales and palettes.
  std::int64_t size_bytes() const {
    std::int64_t table = 0;
    if (form == Form::kInt8 || form == Form::kInt4)
      table = (rows + block_rows - 1) / block_rows * (k / block_k) * (offsets == nullptr ? 1 : 2);
    else if (form == Form::kPalette)
      table = (rows + group - 1) / group << bits;
    return rows * row_bytes() + table * std::int64_t{sizeof(Half)};
  }
  const std::byte* row(std::int64_t r) const { return data + r * row_bytes(); }
  bool has_row_scale() const { return block_k == k; }
  // The scale of element (r, i) and, after it, those of the scale blocks to the right.
  const Half* scales_at(std::int64_t r, std::int64_t i) const {
    return scales + r / block_rows * (k / block_k) + i / block_k;
  }
  float scale(std::int64_t r, std::int64_t i) const { return to_float(*scales_at(r, i)); }
  float offset(std::int64_t r, std::int64_t i) const {
    return offsets == nullptr ? 0 : to_float(offsets[scales_at(r, i) - scales]);
  }
};

}  // namespace anemone::kernels::simd
