// SPDX-License-Identifier: Apache-2.0
// The five-prompt suite: what a chat feels like, from a word to a page.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "bench/speed.h"
#include "engine/model/model.h"

namespace anemone::bench {

struct SuiteResult {
  struct Prompt {
    std::string name;  // "tiny", "short", "medium", "long", "stress"
    std::int64_t prompt_tokens = 0;
    std::int64_t gen_tokens = 0;
    double prefill_tps = 0;
    double decode_tps = 0;
    double ttft_ms = 0;       // from the text to the first token of the answer
    double inference_ms = 0;  // of the model: reading and generating
    double roundtrip_ms = 0;  // from the text to the whole answer
  };

  std::vector<Prompt> prompts;
  std::vector<double> consistency_tps;  // decoding the same prompt again and again
  Speed consistency;
  double cold_start_ms = 0;  // from the start of a process to its first token

  // The mean of a field over the prompts.
  double mean(double Prompt::*field) const;
};

struct SuiteOptions {
  const std::atomic<bool>* cancel = nullptr;  // looked at between tokens; may be null
  std::function<void(std::size_t done, std::size_t total, std::string_view what)> on_progress;
};

// Runs every prompt once, greedily and past the end of texts, so that as much is generated each
// time; the longest is cut to the context. One prompt runs untimed before them. kNotFound when the
// model has no tokenizer, kInvalidArgument when not even the shortest prompts fit its context.
// `cold_start_ms` is left to the caller.
Result<SuiteResult> run_suite(std::shared_ptr<const engine::Model> model,
                              const SuiteOptions& options);

// {"hardware", "system", "macos", "memory_gb", "model", "mode", "cold_start_ms", "avg_prefill_tps",
// "avg_decode_tps", "avg_inference_ms", "avg_roundtrip_ms", "avg_ttft_ms", "results": [...],
// "consistency": {...}}. `mode` is what the model ran on.
Json to_json(const SuiteResult& result, std::string_view model, std::string_view mode);

}  // namespace anemone::bench
