// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "mlpackage/model.h"

namespace anemone::mlpackage {

// A folder X.mlmodelc, by what is in it.
bool is_compiled_folder(const std::string& path);

// Reads the program of a compiled ML program, X.mlmodelc, from its model.mil and weight files. The
// interface has the names of the functions alone: the rest is in a form that Apple does not
// describe. Weights are mapped, as read_package() does.
//   kIo                        the folder is not there or cannot be read
//   kCorrupt, kParseError      it is damaged, with line and column of model.mil
//   kUnsupported               it holds no program, or one that the IR has no place for
// Thread-safe. Memory and time are bounded by the size of model.mil.
Result<Model> read_compiled(const std::string& path);

}  // namespace anemone::mlpackage
