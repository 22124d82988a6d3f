// SPDX-License-Identifier: Apache-2.0
#include "engine/generation/generator.h"

#include <chrono>

namespace anemone::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_cancelled(const GenerateOptions& options) {
  return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

// Runs what the generation wants until its text ends. `steps` counts the tokens that ran.
Status decode_until_end(Session& session, Generation& generation, std::int64_t& steps) {
  while (true) {
    if (is_cancelled(generation.options())) generation.end(FinishReason::kCancelled);
    if (generation.is_done()) return {};
    ANEMONE_RETURN_IF_ERROR(generation.accept({session.logits(), session.argmax()}));
    if (is_cancelled(generation.options()) && !generation.is_done())
      generation.end(FinishReason::kCancelled);
    if (generation.is_done()) return {};
    ANEMONE_RETURN_IF_ERROR(session.decode(generation.pending()).status());
    ++steps;
  }
}

}  // namespace

Result<GenerateResult> generate(Session& session, std::span<const std::int32_t> prompt,
                                const GenerateOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto generation,
                           Generation::create(session.shared_model(), prompt, options));
  const auto prefill_start = Clock::now();
  const auto kept = session.prefill_to(prompt, {.on_logits = options.on_prompt_logits,
                                                .on_progress = options.on_prefill_progress,
                                                .cancel = options.cancel});
  const double prefill_s = seconds_since(prefill_start);
  if (kept.status().code() == Code::kCancelled)
    generation->end(FinishReason::kCancelled);
  else
    ANEMONE_RETURN_IF_ERROR(kept.status());

  const auto decode_start = Clock::now();
  std::int64_t steps = 0;
  ANEMONE_RETURN_IF_ERROR(decode_until_end(session, *generation, steps));
  const double decode_s = seconds_since(decode_start);
  ANEMONE_ASSIGN_OR_RETURN(GenerateResult result, generation->finish());
  result.timing.reused_tokens = kept.ok() ? *kept : 0;
  result.timing.prefill_s = prefill_s;
  result.timing.decode_steps = steps;
  result.timing.decode_s = kept.ok() ? decode_s : 0;
  return result;
}

}  // namespace anemone::engine
