// SPDX-License-Identifier: Apache-2.0
// MIL text as the private compiler takes it. There are two forms, for generations of the chip (law
// old-mil-header); a mixture of them is an InvalidMILProgram.
//
//   up to M3     program(1.0), target ios16, every scalar a tensor without dimensions
//   from M4 on   program(1.3), target ios18
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "exec/ane_direct/runtime.h"
#include "ir/opset.h"
#include "ir/program.h"
#include "tensor/tensor.h"

namespace anemone::exec::ane_direct {

// The target that programs for a chip have: "Apple M3 Pro" ios16, "Apple M4" and everything that
// has no such name ios18.
ir::Opset target_for(std::string_view chip);

// Gives a program the buildInfo that the private compiler refuses to miss.
void add_build_info(ir::Program& program);

// A program ready for AneRuntime::compile().
struct ProgramText {
  std::string mil;
  std::vector<std::string> paths;             // of the files, "weights/NAME.bin"
  std::vector<std::vector<std::byte>> files;  // the same order

  std::vector<WeightFile> weights() const;  // views of this object
};

// The text of a program with one function "main" for ios16 or ios18. Constants of more than
// `most_inline` elements become a file each, named after the value, since an M1 refuses a file with
// several (law one-weight-file). kUnsupported for another function or target, or without
// a buildInfo; the errors of loading a constant.
Result<ProgramText> write_text(const ir::Program& program, std::int64_t most_inline = 16);

}  // namespace anemone::exec::ane_direct
