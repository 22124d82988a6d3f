// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "checkpoint/checkpoint.h"

namespace anemone::checkpoint {

// The language model of a multimodal checkpoint (Gemma3ForConditionalGeneration), as a
// checkpoint of its own: config.json is its text_config, with the end-of-text ids and the tied head
// of the whole, and its tensors have the names that they have alone ("model.layers.0..."). Any
// other checkpoint comes back as it is. kParseError without a text_config.
Result<Checkpoint> language_model(Checkpoint checkpoint);

}  // namespace anemone::checkpoint
