// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>

#include "checkpoint/checkpoint.h"

namespace anemone::checkpoint::gguf {

// A GGUF file (any part of a split one) as a checkpoint: configuration, tensors under the names of
// transformers, tokenizer and chat template, all from the file. Reads headers only.
Result<Checkpoint> open_gguf_checkpoint(const std::string& path);

}  // namespace anemone::checkpoint::gguf
