// SPDX-License-Identifier: Apache-2.0
// Which hints of a law say something new to whoever checks a package.
#pragma once

#include <vector>

#include "ane/law.h"
#include "artifact/manifest.h"

namespace anemone::cli {

// Who wrote what is checked.
struct Writer {
  bool is_anemone = true;                        // else options of `compile` do not exist for it
  const artifact::Manifest* manifest = nullptr;  // how it was compiled; nullptr: not known
};

// The hints of a law without those that are in force by the manifest, that its model has no use
// for, or, for other writers, that are options of `compile`.
std::vector<ane::Hint> hints_for(const ane::Law& law, const Writer& writer);

}  // namespace anemone::cli
