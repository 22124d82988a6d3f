// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>

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

// A weight matrix [rows, columns] that is read row by row, so that no more than a row of it is ever
// held as float. Immutable, thread-safe.
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  // `out` has columns() elements.
  virtual void read_row(std::int64_t row, std::span<float> out) const = 0;
  virtual SourceForm form() const { return {}; }
  // A row of integers [columns()] and its scales [columns() / group]; where form() has a group.
  virtual void read_quants(std::int64_t /*row*/, std::span<std::int8_t> /*quants*/,
                           std::span<float> /*scales*/) const {}
  // The pass over the matrix is over: mapped pages may go.
  virtual void release() const = 0;
  // For error messages: "model.layers.0.self_attn.q_proj.weight (model.safetensors)".
  virtual std::string_view name() const = 0;
};

}  // namespace anemone::quant
