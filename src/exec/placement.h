// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"

namespace anemone::exec {

// Where an executor plans to run the operations of a model, in numbers; products are convolutions,
// matrix products and the like.
struct Placement {
  std::string verdict;         // "resident", "partly", "elsewhere", "unknown"
  std::size_t operations = 0;  // of which it tells where they run
  std::size_t on_chip = 0;     // of them, on the Neural Engine
  std::size_t products = 0;
  std::size_t products_on_chip = 0;
};

// {"verdict", "operations", "operations_on_ane", "products", "products_on_ane"}, for reports and
// for the server.
Json placement_json(const Placement& placement);

}  // namespace anemone::exec
