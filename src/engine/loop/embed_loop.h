// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "engine/loop/request.h"
#include "engine/session/step_runner.h"

namespace anemone::engine {

// The requests for embeddings of one model: each has one step in turn, of one long text or of
// several short ones. Single-thread.
class EmbedLoop {
 public:
  explicit EmbedLoop(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  // After an exception the request is as it was.
  void add(std::shared_ptr<RequestTicket> ticket, EmbedRequest&& request);
  // Requests that have not ended; each counts as one text.
  std::size_t texts() const { return jobs_.size(); }
  // Memory of the caches.
  std::uint64_t bytes() const;
  // Runs one step of one request. `meanwhile` may be called during it (StepRunner). False when
  // there is none.
  bool turn(const std::function<void()>& meanwhile);

 private:
  // A text that is being read.
  struct Text {
    std::unique_ptr<Sequence> sequence;
    std::span<const std::int32_t> ids;
    Pooler pooler;
    HiddenCallback on_hidden;

    bool is_done() const { return sequence->position() == std::ssize(ids); }
  };
  struct Job {
    std::shared_ptr<RequestTicket> ticket;
    EmbedRequest request;
    std::int64_t total = 0;                      // tokens of all texts
    std::int64_t done = 0;                       // of them
    std::vector<std::unique_ptr<Text>> group;    // that are read together
    std::vector<std::vector<float>> embeddings;  // of the texts before the group
  };

  Status step(Job& job, const std::function<void()>& meanwhile);
  // The texts that the next steps read.
  Status begin_group(Job& job);
  Status end_group(Job& job);
  Result<std::unique_ptr<Sequence>> take_sequence();
  void end_first(Result<std::vector<std::vector<float>>> result);

  const std::shared_ptr<const Model> model_;
  std::unique_ptr<StepRunner> runner_;  // null until a request has come
  std::list<Job> jobs_;
  std::vector<std::unique_ptr<Sequence>> spare_;  // empty ones, as long as there are jobs
};

}  // namespace anemone::engine
