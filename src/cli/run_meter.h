// SPDX-License-Identifier: Apache-2.0
// --profile, --trace and --warmup of `run`.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/json.h"
#include "bench/run_profile.h"
#include "bench/step_recorder.h"
#include "engine/model/model.h"

namespace anemone::cli {

// Measures one answer where a flag asks for it; otherwise it does nothing. Single-thread.
class RunMeter {
 public:
  // `trace`: the file for the trace; empty: none.
  RunMeter(bool shows_profile, std::string trace, bool warms_up);

  // What the command does before the answer: call `*_began`, and `*_ended` when that is done.
  void load_began() { begin("load"); }
  void load_ended() { profile_.load_s = end(); }
  void tokenize_began() { begin("tokenize"); }
  void tokenize_ended() { profile_.tokenize_s = end(); }

  // Where --warmup asks for it, runs the first step of the prompt and one that decodes, in caches
  // of their own: pages are mapped, plans and buffers made, and a function that Core ML loads when
  // it first runs is loaded. Ok for a prompt that the engine will refuse. kCancelled when it was
  // interrupted.
  Status warm_up(const std::shared_ptr<const engine::Model>& model,
                 std::span<const std::int32_t> prompt);

  // For EngineOptions; null when nothing is measured.
  engine::StepObserver* observer() { return recorder_ ? &*recorder_ : nullptr; }

  // After the answer. The profile goes into `out` as "profile", or, if that is null, to stderr as
  // a text; the trace into its file. kIo.
  Status finish(const engine::Timing& timing, Json* out);

 private:
  void begin(std::string_view name);
  double end();

  const bool shows_profile_;
  const std::string trace_;
  const bool warms_up_;
  std::optional<bench::StepRecorder> recorder_;
  bench::RunProfile profile_;
};

}  // namespace anemone::cli
