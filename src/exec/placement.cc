// SPDX-License-Identifier: Apache-2.0
#include "exec/placement.h"

#include <nlohmann/json.hpp>

namespace anemone::exec {

Json placement_json(const Placement& placement) {
  return {{"verdict", placement.verdict},
          {"operations", placement.operations},
          {"operations_on_ane", placement.on_chip},
          {"products", placement.products},
          {"products_on_ane", placement.products_on_chip}};
}

}  // namespace anemone::exec
