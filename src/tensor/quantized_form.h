// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anemone {

// Integers with scales, as some checkpoints store a matrix: in each row,
// value[i] = scale[i / group] * quant[i] (+ minimum[i / group]).
struct QuantizedForm {
  std::int64_t group = 0;        // values of a row that share a scale
  int bits = 8;                  // quants fit into a signed integer of so many bits: 4 or 8
  bool has_half_scales = false;  // fp16 holds every scale
  bool has_minimums = false;
};

}  // namespace anemone
