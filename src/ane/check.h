// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "ane/rule.h"

namespace anemone::ane {

struct Finding {
  const Rule* rule = nullptr;  // of rules()
  Place place;
  std::string found;  // "int4, a scale for every 32 inputs"
};

// All places where a package breaks a rule, in the order of rules(). Thread-safe.
std::vector<Finding> check(const Package& package);

}  // namespace anemone::ane
