// SPDX-License-Identifier: Apache-2.0
#include "engine/loop/request.h"

#include <algorithm>

#include "engine/session/sequence.h"

namespace anemone::engine {

GenerateResult cancelled_result(const Choice& choice) {
  GenerateResult result;
  result.finish = FinishReason::kCancelled;
  result.timing.prompt_tokens = static_cast<std::int64_t>(choice.prompt.size());
  return result;
}

std::uint64_t reserved_bytes(const Model& model, const Choice& choice,
                             const SpeculationOptions& speculation) {
  const auto prompt = static_cast<std::int64_t>(choice.prompt.size());
  const std::int64_t limit = choice.options.max_new_tokens;
  const std::int64_t room = std::max<std::int64_t>(0, model.context() - prompt);
  const std::int64_t tokens = prompt + (limit < 0 ? room : std::min(limit, room));
  return Sequence::cache_bytes(model, tokens) + draft_cache_bytes(speculation, model, tokens);
}

}  // namespace anemone::engine
