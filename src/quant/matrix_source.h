// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace anemone::quant {

// How the source holds a matrix.
struct SourceForm {
  bool is_quantized = false;
  // With a group of columns, the matrix is integers times a scale a group of a row: then
  // read_quants() gives them. Quants fit into so many signed bits, 4 or 8.
  std::int64_t group = 0;
  int bits = 8;
  bool has_half_scales = false;  // fp16 holds every scale
};

// A weight matrix [rows, columns] that is read row by row, so that no more than a few rows of it
// are ever held as float. Immutable, thread-safe.
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  // Rows [begin, begin + count): count * columns() elements.
  virtual void read_rows(std::int64_t begin, std::int64_t count, std::span<float> out) const = 0;
  // So many rows take little longer than one: where the matrix lies transposed.
  virtual std::int64_t rows_at_once() const { return 1; }
  virtual SourceForm form() const { return {}; }
  // A row of integers [columns()] and its scales [columns() / group]; where form() has a group.
  virtual void read_quants(std::int64_t /*row*/, std::span<std::int8_t> /*quants*/,
                           std::span<float> /*scales*/) const {}
  // The pass over the matrix is over: mapped pages may go.
  virtual void release() const = 0;
  // For error messages: "model.layers.0.self_attn.q_proj.weight (model.safetensors)".
  virtual std::string_view name() const = 0;
};

// Reads a matrix from its first row to its last, as often as is wanted. For one thread; the matrix
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
