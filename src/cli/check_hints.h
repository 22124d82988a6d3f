// SPDX-License-Identifier: Apache-2.0
// The hints of `check`: a law has hints for every case, and a report shows those that apply to the
// package.
#pragma once

#include <vector>

#include "ane/law.h"
#include "artifact/manifest.h"

namespace anemone::cli {

// What wrote the packages that are checked.
struct Writer {
  bool is_anemone = true;  // false: `compile` did not write them, so its options do not apply
  const artifact::Manifest* manifest = nullptr;  // how they were compiled; nullptr: not known
};

// The hints of a law that apply. It leaves out what the manifest has already, what the model has no
// use for, and the options of `compile` for packages of other writers.
std::vector<ane::Hint> hints_for(const ane::Law& law, const Writer& writer);

}  // namespace anemone::cli
