// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ane/check.h"
#include "ane/chip.h"
#include "artifact/manifest.h"

namespace anemone::ane {

// The least time of a step of a model: its function in all packages of layers and heads, one after
// the other. Experts in packages of their own are not in it: which of them run depends on the text.
struct StepTime {
  std::string function;
  std::int64_t tokens = 0;
  std::size_t packages = 0;
  double seconds = 0;
};

// One for each function of the whole context, in the order of the manifest.
std::vector<StepTime> step_times(const artifact::Manifest& manifest,
                                 const std::vector<CheckedPackage>& packages, const Chip& chip);

}  // namespace anemone::ane
