// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include "base/json.h"
#include "checkpoint/gguf/gguf_architecture.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/hf_config.h"

namespace anemone::checkpoint::gguf {

// What config.json would say: sizes, rope, token ids. kUnsupported for a key of the architecture
// that would change the numbers and is not handled; kParseError and kCorrupt for damaged values.
Result<HfConfig> make_config(const GgufFile& file, const GgufArchitecture& architecture);

// What generation_config.json would say: the ids that end a text, sampling.
Result<Json> make_generation_config(const GgufFile& file);

}  // namespace anemone::checkpoint::gguf
