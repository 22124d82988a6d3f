// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ane/rule.h"
#include "mlpackage/model.h"

namespace anemone::ane {

struct Finding {
  const Rule* rule = nullptr;  // of rules()
  Place place;
  std::string found;  // "int4, a scale for every 32 inputs"
};

// All places where a package breaks a rule, in the order of rules(). Thread-safe.
std::vector<Finding> check(const Package& package);

// One package that was checked.
struct CheckedPackage {
  std::string name;  // in its artifact; the path of a package that stands alone
  std::size_t functions = 0;
  std::vector<Finding> findings;
};

// The same of a model, read or about to be written, whose functions are described. `layers` that it
// has, whole or in part; 0: not known.
CheckedPackage check_package(std::string name, const mlpackage::Model& model, std::int64_t layers);

}  // namespace anemone::ane
