// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "mlpackage/model.h"
#include "mlpackage/package_reader.h"

namespace anemone::mlpackage {

// A folder X.mlmodelc, by what is in it.
bool is_compiled_folder(const std::string& path);

// Reads a compiled ML program, X.mlmodelc: its program from model.mil and weight files, and its
// interface from the program and metadata.json, if that is there (compiled_interface.h). The
// specification version is not known, 0. Weights are mapped or read, as read_package() does it.
//   kIo                        the folder is not there or cannot be read
//   kCorrupt, kParseError      it is damaged, with line and column of model.mil
//   kUnsupported               it holds no program, or one that the IR has no place for
// Thread-safe. Memory and time are bounded by the size of model.mil and of the weights that are
// read.
Result<Model> read_compiled(const std::string& path, const ReadOptions& options = {});

// read_compiled() for what is_compiled_folder(), else read_package().
Result<Model> read_model(const std::string& path, const ReadOptions& options = {});

}  // namespace anemone::mlpackage
