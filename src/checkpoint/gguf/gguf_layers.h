// SPDX-License-Identifier: Apache-2.0
// Readers of the architectures whose layers differ from each other; each is in its own file.
#pragma once

#include <anemone/status.h>

#include "base/json.h"
#include "checkpoint/gguf/gguf_keys.h"

namespace anemone::checkpoint::gguf {

// GgufArchitecture::read_attention and read_more of Gemma 4.
Status read_gemma4_layers(Keys& keys, Json& json);
Status read_gemma4(Keys& keys, Json& json);

// GgufArchitecture::read_layers of both, and read_more of Qwen3.5.
Status read_linear_attention(Keys& keys, Json& json);
Status read_qwen3_5(Keys& keys, Json& json);

}  // namespace anemone::checkpoint::gguf
