// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "engine/loop/request.h"
#include "engine/session/classifier.h"

namespace anemone::engine {

// The texts that a model labels, one after the other. Single-thread.
class LabelLoop {
 public:
  explicit LabelLoop(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  // After an exception the request is as it was.
  void add(std::shared_ptr<RequestTicket> ticket, LabelRequest&& request);
  // Texts that have not ended.
  std::size_t texts() const { return texts_.size(); }
  // Runs one window of the first text. False when there is none.
  bool turn();

 private:
  struct Text {
    std::shared_ptr<RequestTicket> ticket;
    LabelRequest request;
    std::unique_ptr<Labelling> labelling;  // null: it has not begun
  };

  Status run_window(Text& text);
  void end_first(Result<std::vector<float>> result);

  const std::shared_ptr<const Model> model_;
  std::unique_ptr<Classifier> classifier_;
  std::deque<Text> texts_;
};

}  // namespace anemone::engine
