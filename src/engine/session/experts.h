// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <span>

#include "engine/model/model.h"
#include "engine/session/step.h"

namespace anemone::engine {

// The host's part after a shard whose experts are packages of their own: sets each chunk's
// `experts` from what the shard gave. An expert runs once for the tokens of all chunks that have a
// weight for it; tokens of two chunks are never in one run, and how wide its function is depends on
// the width of the chunk alone, so that a chunk gets the same bits whatever runs beside it. Padding
// gets the sum of the last real token. The observer may be null.
Status add_experts(const Model& model, std::size_t shard, std::span<Chunk> chunks,
                   StepObserver* observer);

}  // namespace anemone::engine
