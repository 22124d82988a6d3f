// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>

namespace anemone::quant {

// A weight matrix [rows, columns] that is read row by row, so that no more than a row of it is ever
// held as float. Immutable, thread-safe.
class MatrixSource {
 public:
  virtual ~MatrixSource() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t columns() const = 0;
  // `out` has columns() elements.
  virtual void read_row(std::int64_t row, std::span<float> out) const = 0;
  // The pass over the matrix is over: mapped pages may go.
  virtual void release() const = 0;
  // For error messages: "model.layers.0.self_attn.q_proj.weight (model.safetensors)".
  virtual std::string_view name() const = 0;
};

}  // namespace anemone::quant
