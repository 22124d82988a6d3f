// SPDX-License-Identifier: Apache-2.0
#include "ane/check.h"

#include <utility>

namespace anemone::ane {

std::vector<Finding> check(const Package& package) {
  std::vector<Finding> findings;
  for (const Rule& rule : rules())
    rule.find(package, [&](Place place, std::string found) {
      findings.push_back({&rule, std::move(place), std::move(found)});
    });
  return findings;
}

}  // namespace anemone::ane
