// SPDX-License-Identifier: Apache-2.0
// What speculative decoding gains: the same texts with and without it.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/model/model.h"
#include "engine/speculation/speculator.h"

namespace anemone::bench {

struct SpeculationSpeed {
  std::string text;  // "repeating" or "random"
  std::int64_t prompt_tokens = 0;
  std::int64_t new_tokens = 0;
  double plain_tok_s = 0;  // the median of the repetitions, without speculation
  double tok_s = 0;        // with it
  double speed_up = 0;     // the median of the ratios of two runs that follow each other
  double least_speed_up = 0;
  std::int64_t proposed_tokens = 0;  // of one run
  std::int64_t accepted_tokens = 0;
};

struct SpeculationTest {
  engine::SpeculationOptions speculation;
  std::int64_t tokens = 128;  // of each text, at least 2
  int repetitions = 3;
  const std::atomic<bool>* cancel = nullptr;  // looked at between tokens; may be null
  std::function<void()> on_run;               // after each text
};

// Two texts: a greedy one after a prompt that repeats a few tokens, and one that is sampled at a
// high temperature after random tokens, which hardly repeats any. Each is made without and with
// speculation in turn. kInternal when a text is not the same with it, kInvalidArgument when the
// context is too short.
Result<std::vector<SpeculationSpeed>> measure_speculation(
    const std::shared_ptr<const engine::Model>& model, const SpeculationTest& test);

// {"test": "speculation", "text", "prompt_tokens", "tokens", "plain_tok_s", "tok_s", "speed_up",
// "least_speed_up", "proposed_tokens", "accepted_tokens"}.
Json to_json(const SpeculationSpeed& speed);
// A table of them, a heading included.
std::string speculation_table(const std::vector<SpeculationSpeed>& speeds);

}  // namespace anemone::bench
