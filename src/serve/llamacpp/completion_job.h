// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/loop/request.h"
#include "serve/answer_room.h"
#include "serve/http/message.h"
#include "serve/llamacpp/answer.h"
#include "serve/model_pool.h"

namespace anemone::serve::llamacpp {

// A request for one text, with everything decided.
struct CompletionPlan {
  ModelLease lease;  // until the answer was given
  std::shared_ptr<const engine::Model> model;
  std::string name;  // of the model, for the answer
  std::vector<std::int32_t> prompt;
  engine::GenerateOptions options;
  bool is_stream = false;
  bool returns_tokens = false;
};

// Makes the answer of what the engine says about the text. The request that it gives to the engine
// holds it. All but the cancel flag is of the thread of the engine's turns, once the request was
// submitted.
class CompletionJob : public std::enable_shared_from_this<CompletionJob> {
 public:
  CompletionJob(CompletionPlan plan, std::shared_ptr<Responder> responder, HeaderList headers);

  // Counts what the request holds while it waits and runs; before it is submitted. kOutOfMemory
  // when all answers would hold more than they may together.
  Status hold_plan();
  engine::Request request();
  // Set, it ends the text; by any thread. The request has to be submitted with it.
  const std::shared_ptr<std::atomic<bool>>& cancel_flag() const { return cancel_; }

 private:
  void cancel() { *cancel_ = true; }
  Status take(const engine::TextPiece& piece);
  // Counts what was added to the answer; ends the run when there is no room for it.
  Status charge(std::size_t bytes);
  // Sends the head of a stream, once.
  void begin();
  void end(const Result<engine::GenerateResult>& result);
  void fail(const Status& status);

  CompletionPlan plan_;
  const std::shared_ptr<Responder> responder_;
  const HeaderList headers_;
  const std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  Completion completion_;
  std::vector<std::int32_t> waiting_ids_;  // of a stream: tokens since the last piece with text
  AnswerRoom room_;
  bool has_begun_ = false;  // the head of a stream was sent
};

}  // namespace anemone::serve::llamacpp
