// SPDX-License-Identifier: Apache-2.0
// Where the time of a text goes, measured while it is made: what `run --profile` and `run --trace`
// show.
#pragma once

#include <anemone/status.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/session/step_observer.h"
#include "exec/profile.h"

namespace anemone::bench {

// Adds up the phases of all steps and the operations of all runs, and keeps the single spans where
// a trace is wanted. Single-thread: that of the engine's turns.
class StepRecorder : public engine::StepObserver {
 public:
  using Clock = std::chrono::steady_clock;

  // Spans that a trace has at most: about 35 MB of JSON. A model of 24 layers has some 300
  // operations in a step, so the trace of a long text ends before the text does.
  static constexpr std::size_t kMaxSpans = 250'000;

  // `max_spans` of 0: no trace is wanted.
  explicit StepRecorder(std::size_t max_spans = 0) : max_spans_(max_spans) {}

  // Something before the steps, such as "load". Returns the seconds that it took.
  void begin(std::string_view name);
  double end();

  void step_begins(bool is_prompt) override;
  void step_ends(std::int64_t tokens) override;
  void phase_begins(engine::StepPhase phase) override;
  void phase_ends() override;
  exec::RunTimes* run_begins(std::string_view package, std::string_view function) override;
  void run_ends() override;

  // The steps that read the prompt, or those that decode. Sampling counts to decode: its first
  // token is sampled after the prompt was read.
  struct Mode {
    std::int64_t steps = 0;
    std::int64_t tokens = 0;
    std::array<double, engine::kStepPhases.size()> phases{};  // seconds, by StepPhase
  };
  const Mode& prefill() const { return prefill_; }
  const Mode& decode() const { return decode_; }

  // All steps of one kind: "projection int8", or "predict" of an executor that tells no more.
  struct Kind {
    double prefill_s = 0;
    double decode_s = 0;
    double seconds() const { return prefill_s + decode_s; }
  };
  // By name; empty where the executor does not tell.
  const std::map<std::string, Kind>& kinds() const { return kinds_; }

  // Writes the spans as Chrome's trace events, which Perfetto and chrome://tracing open: "X" events
  // with microseconds since the first span, one inside the other by their times. The operations of
  // a run stand one after the other from its beginning: how long each took is measured, the small
  // gaps between them are not. All-or-nothing, by a temporary name. kIo.
  Status write_trace(const std::string& path) const;
  // That found no room in the trace.
  std::size_t dropped_spans() const { return dropped_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  enum class Category : std::uint8_t { kCommand, kStep, kPhase, kFunction, kOperation };
  struct Span {
    Clock::time_point start;
    std::chrono::nanoseconds length{};
    std::uint32_t name = 0;       // in names_
    std::uint32_t operation = 0;  // the same, of an operation
    std::int64_t tokens = 0;      // of a step
    Category category = Category::kCommand;
  };
  struct Open {
    Clock::time_point start;
    std::size_t span = kNone;  // kNone: it has none
  };
  // What the steps of a plan are called.
  struct StepNames {
    std::shared_ptr<const std::vector<exec::PlanStep>> steps;  // so that its address stays its own
    std::vector<Kind*> kinds;                                  // null for views
    std::vector<std::uint32_t> names;                          // in names_, where a trace is wanted
    std::vector<std::uint32_t> operations;
  };

  void open(Category category, std::string_view name);
  // Seconds since the last open().
  double close(std::int64_t tokens = 0);
  std::size_t add(Span span);
  std::uint32_t name_of(std::string_view name);
  const StepNames& names_of(const std::shared_ptr<const std::vector<exec::PlanStep>>& steps);
  std::string event_of(const Span& span) const;

  const std::size_t max_spans_;
  std::vector<Open> open_;
  Mode prefill_;
  Mode decode_;
  bool is_prompt_ = false;
  engine::StepPhase phase_ = engine::StepPhase::kEmbedding;
  exec::RunTimes times_;
  std::map<std::string, Kind> kinds_;  // nodes that stay where they are
  std::unordered_map<const void*, StepNames> step_names_;
  std::vector<Span> spans_;  // outer ones before inner ones
  std::size_t dropped_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of names_
};

}  // namespace anemone::bench
