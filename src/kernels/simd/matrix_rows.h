// SPDX-License-Identifier: Apache-2.0
// Readers that convert the elements of one row of a weight matrix to vectors of fp32, for one
// instruction set.
#pragma once

#include <cstddef>

#include "kernels/simd/kernels.h"
#include "kernels/simd/palettes.h"
#include "kernels/simd/vectors.h"

namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE {

// read(step, out) of each reader converts the next kVectors * kWidth elements of its row to fp32.
// Int8Row and Int4Row give integers without their scale, by which the caller multiplies; rows of
// palettes give the entries.
struct FloatRow {
  static constexpr int kVectors = 1;
  FloatRow(const Matrix& m, std::int64_t r) : data(reinterpret_cast<const float*>(m.row(r))) {}
  void read(std::int64_t step, Floats out[kVectors]) const { out[0] = load(data + step * kWidth); }
  const float* data;
};
struct HalfRow {
  static constexpr int kVectors = 1;
  HalfRow(const Matrix& m, std::int64_t r) : data(reinterpret_cast<const Half*>(m.row(r))) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    out[0] = load_halves(data + step * kWidth);
  }
  const Half* data;
};
struct Int8Row {
  static constexpr int kVectors = 1;
  Int8Row(const Matrix& m, std::int64_t r) : data(m.row(r)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    out[0] = load_int8(data + step * kWidth);
  }
  const std::byte* data;
};
// 4-bit integers: out[0] has the even elements of the step, out[1] the odd ones.
struct Int4Row {
  static constexpr int kVectors = 2;
  Int4Row(const Matrix& m, std::int64_t r) : data(m.row(r)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    const Ints pairs = load_nibbles(data + step * kWidth);
    out[0] = __builtin_convertvector((pairs << 28) >> 28, Floats);
    out[1] = __builtin_convertvector((pairs << 24) >> 28, Floats);
  }
  const std::byte* data;
};
struct Palette16Row {
  static constexpr int kVectors = 2;
  Palette16Row(const Matrix& m, std::int64_t r)
      : data(m.row(r)), palette(m.palette + (r / m.group << 4)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    const Ints pairs = load_nibbles(data + step * kWidth);
    out[0] = palette.find(pairs);
    out[1] = palette.find(pairs >> 4);
  }
  const std::byte* data;
  Palette16 palette;
};

// Indices of six or eight bits, in the order of memory.
template <typename Palette, int kBits>
struct PaletteRow {
  static constexpr int kVectors = Palette::kVectors;
  PaletteRow(const Matrix& m, std::int64_t r)
      : data(m.row(r)), palette(m.palette + (r / m.group << kBits)) {}
  void read(std::int64_t step, Floats out[kVectors]) const {
    palette.find(data + step * (kVectors * kWidth * kBits / 8), out);
  }
  const std::byte* data;
  Palette palette;
};
using Palette64Row = PaletteRow<Palette64, 6>;
using Palette256Row = PaletteRow<Palette256, 8>;

// body.operator()<Row>() with the row of the matrix's form.
template <typename Body>
void for_row_of(const Matrix& m, const Body& body) {
  switch (m.form) {
    case Matrix::Form::kFloat:
      return body.template operator()<FloatRow>();
    case Matrix::Form::kHalf:
      return body.template operator()<HalfRow>();
    case Matrix::Form::kInt8:
      return body.template operator()<Int8Row>();
    case Matrix::Form::kInt4:
      return body.template operator()<Int4Row>();
    case Matrix::Form::kPalette:
      if (m.bits == 4) return body.template operator()<Palette16Row>();
      if (m.bits == 6) return body.template operator()<Palette64Row>();
      return body.template operator()<Palette256Row>();
  }
}

// Whether two elements share a byte: int4, and indices into palettes of 16.
inline bool is_nibbles(const Matrix& m) {
  return m.bits == 4;
}

// Elements that read() converts per step; 0 if k or the scale block is no multiple of it: such rows
// go through expand_row().
inline std::int64_t step_elements(const Matrix& m) {
  std::int64_t step = 0;
  for_row_of(m, [&]<typename Row>() { step = Row::kVectors * kWidth; });
  const bool is_scaled = m.form == Matrix::Form::kInt8 || m.form == Matrix::Form::kInt4;
  return m.k % step == 0 && (!is_scaled || m.block_k % step == 0) ? step : 0;
}

inline std::int32_t element_bits(const std::byte* row, int bits, std::int64_t i) {
  if (bits == 8) return static_cast<std::int32_t>(row[i]);
  const std::int64_t at = i * bits;
  std::uint32_t two = static_cast<std::uint32_t>(row[at >> 3]);
  // The second byte may lie beyond the matrix unless the element extends into it.
  if ((at & 7) + bits > 8) two |= static_cast<std::uint32_t>(row[(at >> 3) + 1]) << 8;
  return static_cast<std::int32_t>(two >> (at & 7) & ((1u << bits) - 1));
}

inline void expand_row(const Matrix& m, std::int64_t r, float* out) {
  const std::byte* row = m.row(r);
  switch (m.form) {
    case Matrix::Form::kFloat:
      std::memcpy(out, row, static_cast<std::size_t>(m.k) * sizeof(float));
      return;
    case Matrix::Form::kHalf:
      for (std::int64_t c = 0; c < m.k; ++c)
        out[c] = to_float(reinterpret_cast<const Half*>(row)[c]);
      return;
    case Matrix::Form::kInt8:
      for (std::int64_t scale_block = 0; scale_block < m.k; scale_block += m.block_k) {
        const float scale = m.scale(r, scale_block);
        for (std::int64_t c = scale_block; c < scale_block + m.block_k; ++c)
          out[c] = static_cast<float>(static_cast<std::int8_t>(row[c])) * scale;
      }
      return;
    case Matrix::Form::kInt4:
      for (std::int64_t scale_block = 0; scale_block < m.k; scale_block += m.block_k) {
        const float scale = m.scale(r, scale_block);
        for (std::int64_t c = scale_block; c < scale_block + m.block_k; ++c) {
          const std::int32_t nibble = element_bits(row, 4, c);
          out[c] = static_cast<float>(nibble >= 8 ? nibble - 16 : nibble) * scale;
        }
      }
      return;
    case Matrix::Form::kPalette: {
      const Half* palette = m.palette + (r / m.group << m.bits);
      float table[256];
      for (int i = 0; i < 1 << m.bits; ++i) table[i] = to_float(palette[i]);
      for (std::int64_t c = 0; c < m.k; ++c) out[c] = table[element_bits(row, m.bits, c)];
      return;
    }
  }
}

}  // namespace anemone::kernels::simd::ANEMONE_SIMD_NAMESPACE
