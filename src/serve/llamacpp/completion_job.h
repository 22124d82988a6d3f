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
#include "serve/token_scorer.h"

namespace anemone::serve::llamacpp {

// A request for a text, or for one after each of several prompts, with everything decided.
struct CompletionPlan {
  ModelLease lease;  // until the answer was given
  std::shared_ptr<const engine::Model> model;
  std::string name;                                // of the model, for the answer
  std::vector<std::vector<std::int32_t>> prompts;  // at least one
  // Hold for every text, whose log-probabilities go out as "completion_probabilities".
  engine::GenerateOptions options;
  bool is_stream = false;
  bool returns_tokens = false;
};

// Makes the answer of what the engine says about the texts: an object, or a list of them where
// there are several prompts; in a stream the pieces of all texts as they come, each with the index
// of its prompt. The first text that fails is the answer, and the others end. The request that it
// gives to the engine holds it. All but the cancel flag is of the thread of the engine's turns,
// once the request was submitted.
class CompletionJob : public std::enable_shared_from_this<CompletionJob> {
 public:
  CompletionJob(CompletionPlan plan, std::shared_ptr<Responder> responder, HeaderList headers);

  // Counts what the request holds while it waits and runs; before it is submitted. kOutOfMemory
  // when all answers would hold more than they may together.
  Status hold_plan();
  engine::Request request();
  // Set, it ends the texts; by any thread. The request has to be submitted with it.
  const std::shared_ptr<std::atomic<bool>>& cancel_flag() const { return cancel_; }

 private:
  // One of the texts.
  struct Text {
    Text(const text::Tokenizer& tokenizer, const std::atomic<bool>& cancel)
        : scorer(tokenizer, cancel) {}

    TokenScorer scorer;
    Completion completion;
    // Log-probabilities in the form that answer_text() takes; in a stream, those since the last
    // piece that had a text.
    std::string probabilities;
    std::vector<std::int32_t> waiting_ids;  // of a stream: tokens since that piece
    std::size_t charged = 0;                // for it
    std::string answer;                     // once it has ended, not in a stream
  };

  void cancel() { *cancel_ = true; }
  engine::Choice make_choice(std::size_t index);
  Status take(Text& text, const engine::TextPiece& piece);
  Status send(Text& text, const engine::TextPiece& piece);
  // Counts what was added to the answer; ends the run when there is no room for it.
  Status charge(std::size_t bytes);
  // Counts what was added to a text; its end discharges it.
  Status charge(Text& text, std::size_t bytes);
  void discharge(Text& text);
  // Sends the head of a stream, once.
  void begin();
  void end(Text& text, const Result<engine::GenerateResult>& result);
  Status finish(Text& text, const engine::GenerateResult& result);
  void complete();
  void fail(const Status& status);

  CompletionPlan plan_;
  const std::shared_ptr<Responder> responder_;
  const HeaderList headers_;
  const std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<std::unique_ptr<Text>> texts_;  // by prompt
  std::size_t open_ = 0;                      // texts that have not ended
  AnswerRoom room_;
  bool has_begun_ = false;  // the head of a stream was sent
  bool has_ended_ = false;  // the answer, or an error
};

}  // namespace anemone::serve::llamacpp
