// SPDX-License-Identifier: Apache-2.0
// The data files of the operation tests: tests/ops/data/<op>.json, a list of cases
//   {"name": "adds a row to every row", "op": "add", "opset": "ios18",
//    "inputs": {"x": {"dtype": "fp16", "shape": [2, 3], "values": [1, 2, 3, 4, 5, 6]},
//               "mode": {"text": "EXACT"}, "values": {"list": [...]}},
//    "outputs": [{"dtype": "fp16", "shape": [2, 3], "values": [...]}],
//    "tolerance": {"abs": 0, "rel": 1e-3}, "error": "add_c1"}
// Values are numbers, "nan", "inf", "-inf", or true and false. Flags of a case, all absent by
// default:
//   "needs_values"  the type rule may refuse the case when run-time values are not known
//   "hidden_error"  a constraint: the type rule must refuse the case by it when the operands are no
//   constants
//   "no_kernel"     the operation has no kernel (the interpreter does it): only types are checked
//   "defaults_differ"  a default spelled out has another dtype or precision, compare only without
//   it
// An input with "state": true is a state; of one without "values" only the type is known.
#pragma once

#include <anemone/status.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/opset.h"
#include "ir/type.h"
#include "tensor/tensor.h"

namespace anemone::testing {

// One argument of an operation, or one expected output.
struct Argument {
  ir::Type type;
  std::optional<Tensor> tensor;
  std::optional<std::string> text;
};

using Arguments = std::map<std::string, std::vector<Argument>, std::less<>>;

// How far a value may lie from the expected one: |got - want| <= abs + rel * |want|.
struct Tolerance {
  double abs = 0;
  double rel = 0;
};

struct OpCase {
  std::string file;
  std::string name;
  std::string op;
  ir::Opset opset = ir::Opset::kIOS18;
  Arguments inputs;
  std::vector<Argument> outputs;
  std::optional<Tolerance> tolerance;
  std::string error;         // text that the error message must hold; empty: the case must succeed
  std::string hidden_error;  // a constraint; empty: the case holds for run-time operands too
  bool needs_values = false;
  bool no_kernel = false;
  bool defaults_differ = false;
};

// The cases of one data file.
Result<std::vector<OpCase>> read_op_cases(const std::string& path);

}  // namespace anemone::testing
