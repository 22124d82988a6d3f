// SPDX-License-Identifier: Apache-2.0
// Times prompts and decode steps of sessions.
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/session.h"

namespace anemone::bench {

struct Speed {
  double tok_s = 0;   // of all streams together; the median of the repetitions
  double stddev = 0;  // of the repetitions
};

Speed speed_of(std::vector<double> tok_s);

// Sessions of one model that are filled, timed and cut again. The tokens are random, the same in
// every process. Single-thread.
class SpeedTest {
 public:
  // `cancel` is looked at between steps: kCancelled. May be null, else outlives the test.
  SpeedTest(std::shared_ptr<const engine::Model> model, int repetitions,
            const std::atomic<bool>* cancel)
      : model_(std::move(model)), repetitions_(repetitions), cancel_(cancel) {}

  // Called whenever a session was filled or a repetition ended; may be empty.
  std::function<void()> on_step;

  bool fits(std::int64_t tokens, std::int64_t depth) const;

  // Each runs once untimed before it is timed, and fails with kInternal when a repetition gives
  // other logits than the first, or a stream other logits than alone. tokens >= 1, fits().
  Result<Speed> prefill(std::int64_t tokens, std::int64_t depth);
  Result<Speed> decode(std::int64_t steps, std::int64_t depth, std::int64_t streams);

 private:
  // What a session says about the next token, for comparing.
  using Answer = std::vector<float>;

  Status fill(std::int64_t streams, std::int64_t depth);
  Status cut(std::int64_t depth);
  Status check_cancel() const;
  engine::PrefillOptions prefill_options() const;
  Status check_streams(std::int64_t depth);
  Status run_steps(std::int64_t steps);
  void step_done() const;
  std::int32_t token(std::int64_t stream, std::int64_t position) const;
  std::vector<std::int32_t> tokens(std::int64_t stream, std::int64_t begin,
                                   std::int64_t count) const;
  static Answer answer_of(const engine::Session& session);

  std::shared_ptr<const engine::Model> model_;
  int repetitions_;
  const std::atomic<bool>* cancel_;
  std::vector<std::unique_ptr<engine::Session>> sessions_;
};

}  // namespace anemone::bench
