// SPDX-License-Identifier: Apache-2.0
#include "ane/step_times.h"

#include <algorithm>
#include <set>

#include "ane/placement.h"

namespace anemone::ane {

std::vector<StepTime> step_times(const artifact::Manifest& manifest,
                                 const std::vector<CheckedPackage>& packages, const Chip& chip) {
  std::set<std::string> of_a_step;
  for (const artifact::Shard& shard : manifest.shards) of_a_step.insert(shard.package);
  for (const artifact::Head& head : manifest.heads) of_a_step.insert(head.package);
  std::vector<StepTime> out;
  for (const artifact::Function& function : manifest.functions) {
    if (function.context != 0) continue;
    StepTime step = {.function = function.name, .tokens = function.tokens};
    for (const CheckedPackage& package : packages) {
      if (!of_a_step.contains(package.name)) continue;
      const auto found = std::ranges::find(package.functions, function.name, &PlacedFunction::name);
      if (found == package.functions.end()) continue;
      ++step.packages;
      step.seconds += estimate(*found, chip).seconds;
    }
    if (step.packages > 0) out.push_back(std::move(step));
  }
  return out;
}

}  // namespace anemone::ane
