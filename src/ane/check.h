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
  const Chip* chip = nullptr;              // nullptr: the laws of all chips
  const Measurements* measured = nullptr;  // nullptr: none
  int target_version = 0;                  // of parse_target(); 0: any system
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

// The same of a model, read or about to be written, whose functions are described. `layers` that it
// has, whole or in part; 0: not known.
CheckedPackage check_package(std::string name, const mlpackage::Model& model, std::int64_t layers,
                             const CheckOptions& options = {});

}  // namespace anemone::ane
