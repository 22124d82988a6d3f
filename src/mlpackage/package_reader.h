// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <span>
#include <string>

#include "mlpackage/model.h"

namespace anemone::mlpackage {

struct ReadOptions {
  // Weights stay in the mapped file; else they are read into memory (base/file_copy.h).
  bool maps_weights = true;
};

// Reads X.mlpackage, or a bare model file. Model and weights are found through Manifest.json; the
// constants keep the memory of the weights alive. Everything but the lawfulness of single
// operations (ir/verifier.h) is checked: manifest, every reference into a weight file, versions,
// and the description against the program. One line names the file and the place:
//   kIo               the package is not there or cannot be read
//   kCorrupt, kParseError, kVersionMismatch   it is damaged or from a later format
//   kUnsupported      it holds another kind of model (neural network, pipeline, compiled) or a type
//                     that the IR has no place for
//   kOutOfMemory      weights that are read into memory do not fit there
// Thread-safe. Memory and time are bounded by the size of the model file, and of the weights where
// they are read.
Result<Model> read_package(const std::string& path, const ReadOptions& options = {});

// A model file in memory that refers to no weight file. `subject` starts each error.
Result<Model> parse_model(std::span<const std::byte> bytes, const std::string& subject);

}  // namespace anemone::mlpackage
