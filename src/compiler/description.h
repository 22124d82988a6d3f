// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "checkpoint/checkpoint.h"
#include "compiler/plan.h"

namespace anemone::compiler {

// The manifest of a planned artifact, as far as it is known before anything is written: no shards,
// heads, embedding or files. `notes` gets what is left out of it.
artifact::Manifest describe_model(const checkpoint::Checkpoint& checkpoint, const Plan& plan,
                                  std::vector<std::string>& notes);

}  // namespace anemone::compiler
