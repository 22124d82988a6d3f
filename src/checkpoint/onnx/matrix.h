// SPDX-License-Identifier: Apache-2.0
// The weight matrices of an ONNX decoder, in the forms that ONNX Runtime's operators take.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <optional>
#include <string>

#include "checkpoint/onnx/onnx_graph.h"
#include "checkpoint/weight_source.h"

namespace anemone::checkpoint::onnx {

// Rows [first, first + rows) of a matrix [*, columns], as a projection multiplies them.
struct Matrix {
  std::string name;  // of the constant, for messages
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  WeightRef weight;  // without a name; its decoder belongs to `decoder`, null for plain elements
  std::shared_ptr<const WeightDecoder> decoder;

  // A part of the rows.
  Matrix part(std::int64_t first, std::int64_t count) const;
};

// The matrix of MatMulNBits, MatMul with a constant right side, Gather and
// GatherBlockQuantized (by the node that uses it). kUnsupported for other operators and forms.
//
// MatMulNBits: B [rows, blocks, block * bits / 8] of 2, 4 or 8 bits, low bits first; value =
// (q - zero) * scale with a scale and maybe a zero point per block (default 2^(bits - 1)).
// Source: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
Result<Matrix> read_matrix(const OnnxGraph& graph, const Node& node);

// The matrix of `columns` columns that constants of this name hold (named_decoder.h says in which
// forms). kNotFound when there are none.
Result<Matrix> read_named_matrix(const OnnxGraph& graph, const std::string& name,
                                 std::int64_t columns);

}  // namespace anemone::checkpoint::onnx
