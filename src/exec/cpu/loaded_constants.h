// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "exec/cpu/prepared_program.h"

namespace anemone::exec {

// Constants of all functions of a program. Data that several literals share is loaded once.
// Outlives the registers, which view its bytes. Not thread-safe.
class LoadedConstants {
 public:
  // An empty register for what is neither a tensor of numbers nor a scalar string: such constants
  // have no value at run time. The register views the text of the literal, which outlives it.
  // kCorrupt if the data does not have the size of its type.
  Result<Register> reg(const ir::Literal& literal);

 private:
  Result<std::span<const std::byte>> load(const ir::Literal& literal);

  std::vector<std::shared_ptr<const void>> owners_;  // of the bytes
  std::unordered_map<const ir::Data*, std::span<const std::byte>> loaded_;
};

}  // namespace anemone::exec
