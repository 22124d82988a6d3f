// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ane/law.h"
#include "ane/measured.h"
#include "ane/placement.h"
#include "mlpackage/model.h"

namespace anemone::ane {

struct CheckOptions {
  const Chip* chip = nullptr;  // only laws that are known for this chip; nullptr: all laws
  // What a Mac measured with the packages of `anemone probe`, which decides over the laws;
  // nullptr: nothing.
  const Measurements* measured = nullptr;
  // The specification version that the oldest system reads which is to load the package
  // (parse_target()); 0: any system.
  int target_version = 0;
  // No step of a model runs the package, as that of the final norm for embeddings: that it is small
  // is a note.
  bool is_auxiliary = false;
};

// All places where a package breaks a law that holds for the chip, the most severe first, then in
// the order of laws(). Thread-safe.
std::vector<Finding> check(const Package& package, const CheckOptions& options = {});

// One package that was checked.
struct CheckedPackage {
  std::string name;  // in its artifact; the path of a package that stands alone
  std::uint64_t weight_bytes = 0;
  std::vector<Finding> findings;
  std::vector<PlacedFunction> functions;
};

// Checks a package that was read or is about to be written, and predicts the device of each
// operation of its functions. `layers` is how many layers of the language model it holds, whole or
// in part, for the laws about too many layers; 0: not known.
CheckedPackage check_package(std::string name, const mlpackage::Model& model, std::int64_t layers,
                             const CheckOptions& options = {});

}  // namespace anemone::ane
