// SPDX-License-Identifier: Apache-2.0
// Small models for the tests of this folder. Operations have made-up types where only the form
// counts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"
#include "mlpackage/model.h"

namespace anemone::mlpackage::testing {

// Appends operations to one block.
class BlockWriter {
 public:
  BlockWriter(ir::Program& program, ir::Block& block) : program_(program), block_(block) {}

  ir::Op* op(std::string type, std::string name,
             std::vector<std::pair<std::string, ir::Arguments>> inputs,
             std::vector<ir::Type> outputs);
  ir::Value* constant(std::string name, ir::Literal literal);

 private:
  ir::Program& program_;
  ir::Block& block_;
};

// 0, 1, 2 ... stored as `dtype`, modulo 2 so that every dtype can hold them.
Tensor counting_tensor(DType dtype, Shape shape);

// Function main: x fp16 [1, 4], state cache fp16 [1, 4] -> y fp16 [1, 4]; one fp16 [4, 4] weight in
// a blob, one small constant in place. Every damaged package of the tests starts as this one.
Model plain_model();

// Constants of every element type, empty and full, in the model and in the weight file; strings,
// lists, tuples, dictionaries; constexpr operations of both forms; nested blocks; unknown
// dimensions; states.
Model model_of_all_forms();

// decode and prefill over one weight, default decode.
Model two_function_model();

}  // namespace anemone::mlpackage::testing
