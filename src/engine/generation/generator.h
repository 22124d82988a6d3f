// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>

#include "engine/generation/generation.h"
#include "engine/session/session.h"

namespace anemone::engine {

// Makes the session hold `prompt` (keeping the prefix that it has already) and continues it. Tokens
// that were picked are in the session afterwards, except the last one. kInvalidArgument for an
// option out of range, stop strings without a tokenizer or a prompt that does not fit the context.
// After an error the session is good, with the tokens that position() says.
Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options);

}  // namespace anemone::engine
