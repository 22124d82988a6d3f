// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "engine/loop/request.h"
#include "engine/session/classifier.h"

namespace anemone::engine {

// The requests for labels of one model: each has one window of a text in turn. Single-thread.
class LabelLoop {
 public:
  explicit LabelLoop(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  // After an exception the request is as it was.
  void add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request);
  // Requests that have not ended; each counts as one text.
  std::size_t texts() const { return jobs_.size(); }
  // Runs one window of one request. False when there is none.
  bool turn();

 private:
  struct Job {
    std::shared_ptr<RequestTicket> ticket;
    LabelRequest request;
    std::int64_t total = 0;                // tokens of all texts
    std::int64_t done = 0;                 // of those that are complete
    std::unique_ptr<Labelling> labelling;  // of the text after the complete ones; null: not begun
    LabelRequest::Logits logits;           // of the texts that are complete
  };

  Status run_window(Job& job);
  void end_first(Result<LabelRequest::Logits> result);

  const std::shared_ptr<const Model> model_;
  std::unique_ptr<Classifier> classifier_;
  std::list<Job> jobs_;
};

}  // namespace anemone::engine
