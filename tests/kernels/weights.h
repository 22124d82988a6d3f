// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/simd/matrix.h"
#include "tensor/bits.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::testing {

using simd::Matrix;

using Form = Matrix::Form;

// A matrix with the storage behind it.
struct Weights {
  Matrix matrix;
  std::vector<std::byte> data;
  std::vector<Half> scales;
  std::vector<Half> palette;
  std::vector<double> values;  // what it stands for
};

struct Shape2 {
  std::int64_t rows, k;
};

inline Weights make(Form form, int bits, const Shape2& shape, std::int64_t block_rows,
                    std::int64_t block_k, std::int64_t group) {
  RandomValues random(static_cast<std::uint32_t>(shape.rows * 7 + shape.k + bits));
  Weights w;
  Matrix& m = w.matrix;
  m = {.form = form, .rows = shape.rows, .k = shape.k, .bits = bits};
  const std::int64_t count = shape.rows * shape.k;
  w.data = random.bytes((count * bits + 7) / 8);
  if (form == Form::kFloat || form == Form::kHalf) {
    const auto floats = random.floats(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Half half = to_half(floats[at]);
      if (form == Form::kFloat)
        std::memcpy(&w.data[at * 4], &floats[at], 4);
      else
        std::memcpy(&w.data[at * 2], &half, 2);
    }
  }
  if (form == Form::kInt8 || form == Form::kInt4) {
    m.block_rows = block_rows;
    m.block_k = block_k == 0 ? shape.k : block_k;
    w.scales = random.halves(shape.rows / m.block_rows * (shape.k / m.block_k), 0.1f);
    m.scales = w.scales.data();
  }
  if (form == Form::kPalette) {
    m.group = group;
    w.palette = random.halves((shape.rows / group) << bits);
    m.palette = w.palette.data();
  }
  m.data = w.data.data();
  const DType packed = bits == 4   ? (form == Form::kInt4 ? DType::kInt4 : DType::kUInt4)
                       : bits == 6 ? DType::kUInt6
                                   : DType::kUInt8;
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t c = 0; c < shape.k; ++c) {
      const std::int64_t i = r * shape.k + c;
      const auto at = static_cast<std::size_t>(i);
      double value = 0;
      switch (form) {
        case Form::kFloat: {
          float f;
          std::memcpy(&f, &w.data[at * 4], 4);
          value = static_cast<double>(f);
          break;
        }
        case Form::kHalf: {
          Half h;
          std::memcpy(&h, &w.data[at * 2], 2);
          value = static_cast<double>(to_float(h));
          break;
        }
        case Form::kInt8:
          value = static_cast<double>(static_cast<std::int8_t>(w.data[at])) *
                  static_cast<double>(m.scale(r, c));
          break;
        case Form::kInt4:
          value = static_cast<double>(unpack_bits(w.data, packed, static_cast<std::uint64_t>(i))) *
                  static_cast<double>(m.scale(r, c));
          break;
        case Form::kPalette: {
          const auto index = bits == 8 ? static_cast<std::int32_t>(w.data[at])
                                       : unpack_bits(w.data, packed, static_cast<std::uint64_t>(i));
          value = static_cast<double>(
              to_float(w.palette[static_cast<std::size_t>((r / group << bits) + index)]));
          break;
        }
      }
      w.values.push_back(value);
    }
  return w;
}

inline double product(const Weights& w, std::int64_t row, const std::vector<float>& x) {
  double sum = 0;
  const std::int64_t k = w.matrix.k;
  for (std::int64_t c = 0; c < k; ++c)
    sum += w.values[static_cast<std::size_t>(row * k + c)] *
           static_cast<double>(x[static_cast<std::size_t>(c)]);
  return sum;
}

}  // namespace anemone::kernels::testing
