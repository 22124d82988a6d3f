// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/json.h"
#include "bench/step_recorder.h"
#include "engine/generation/generation.h"

namespace anemone::bench {

// Where the time of one answer went, from what a command and a recorder have measured.
struct RunProfile {
  double load_s = 0;      // until the model was ready; with its compilation, if it was compiled
  double tokenize_s = 0;  // the chat template and the tokenizer
  std::optional<double> warmup_s;
  engine::Timing timing;
  const StepRecorder* steps = nullptr;

  // Three tables: the parts of the command, the time of each phase per token, and the `most` most
  // expensive kinds of operations.
  std::string text(std::size_t most = 10) const;
  // {"load_s", "tokenize_s", "prefill": {"tokens", "seconds", "tok_s", "phases"}, "decode": ...,
  // "operations": [...]}: see docs/guide/run.md.
  Json json() const;
};

}  // namespace anemone::bench
