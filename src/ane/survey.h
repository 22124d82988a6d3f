// SPDX-License-Identifier: Apache-2.0
// What one pass over a program finds for the laws and the placement: its operations as a list, and
// the bytes of its constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/program.h"

namespace anemone::ane {

struct SurveyedOperation {
  const ir::Op* op = nullptr;  // of the program
  // Stored bytes of the weight of a product (is_weighted()), behind the operations that restore it;
  // 0 of any other operation.
  std::uint64_t weight_bytes = 0;
};

struct SurveyedFunction {
  const ir::Function* function = nullptr;  // of the program
  // All of them, constants and those of blocks inside others too, in the order of the program. The
  // index in this list tells an operation from others of its name.
  std::vector<SurveyedOperation> operations;
  // Constants of 64 bytes or more, as they are stored; one with several readers counts once.
  std::uint64_t weight_bytes = 0;
};

struct Survey {
  std::vector<SurveyedFunction> functions;  // in the order of the program
  std::uint64_t weight_bytes = 0;           // what functions share counts once
};

// Takes time linear in the program and loads no weight that is computed when it is loaded. Accepts
// operations that lack parameters. The program outlives the survey. Thread-safe.
Survey survey_program(const ir::Program& program);

}  // namespace anemone::ane
