// SPDX-License-Identifier: Apache-2.0
// Programs whose operations take indices and sizes from their inputs: seeds of the package fuzzer,
// which feeds them with hostile values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/program.h"

namespace anemone::fuzz {

std::vector<std::pair<std::string, ir::Program>> value_programs();

}  // namespace anemone::fuzz
