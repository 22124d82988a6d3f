// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "ane/check.h"
#include "mlpackage/model.h"

namespace anemone::compiler {

// What the rules of the chip find in a package, read or about to be written, whose functions are
// described. `layers` of a model, whole or in part; 0: not known.
ane::CheckedPackage check_package(std::string name, const mlpackage::Model& model,
                                  std::int64_t layers);

}  // namespace anemone::compiler
