// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/quantized_form.h"

namespace anemone::quant {

// A weight matrix [rows, columns] that is read row by row, so that no more than a few rows of it
// are ever held as float. Immutable, thread-safe.
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  // Rows [begin, begin + count): count * columns() elements.
  virtual void read_rows(std::int64_t begin, std::int64_t count, std::span<float> out) const = 0;
  // How many rows are best read together, since reading them takes little longer than reading one:
  // more than 1 for a matrix that lies transposed.
  virtual std::int64_t rows_at_once() const { return 1; }
  // Bits of the integers that the source holds, in a QuantizedForm or another one; 0: floats.
  virtual int quantized_bits() const { return 0; }
  // The form of the integers behind the matrix; nullopt when it is not integers with scales.
  virtual std::optional<QuantizedForm> quantized_form() const { return std::nullopt; }
  // A row of integers [columns()] and its scales [columns() / group]; with a quantized_form() only.
  virtual void read_quants(std::int64_t /*row*/, std::span<std::int8_t> /*quants*/,
                           std::span<float> /*scales*/) const {}
  // The minimums of a row, as many as scales; where its form has some only.
  virtual void read_minimums(std::int64_t /*row*/, std::span<float> /*minimums*/) const {}
  // The pass over the matrix is over: mapped pages may go.
  virtual void release() const = 0;
  // Name for error messages: "model.layers.0.self_attn.q_proj.weight (model.safetensors)".
  virtual std::string_view name() const = 0;
};

// Reads a matrix from its first row to its last, as often as is wanted. Not thread-safe; the matrix
// outlives it.
class RowReader {
 public:
  explicit RowReader(const MatrixSource& matrix) : matrix_(matrix) {}
  // Valid until the next call.
  std::span<const float> row(std::int64_t index);

 private:
  const MatrixSource& matrix_;
  std::vector<float> kept_;  // rows [begin_, begin_ + count_)
  std::int64_t begin_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace anemone::quant
