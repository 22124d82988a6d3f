// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop/request.h"
#include "serve/answer_room.h"
#include "serve/http/message.h"
#include "serve/metrics.h"
#include "serve/model_pool.h"
#include "serve/openai/answer.h"
#include "text/tools/answer_parser.h"

namespace anemone::serve {

// A request of the OpenAI API, with everything decided.
struct GenerationPlan {
  struct Prompt {
    std::vector<std::int32_t> ids;
    std::string echo;  // what the answer begins with
  };
  ModelLease lease;  // until the answer was given
  std::shared_ptr<const engine::Model> model;
  ModelMetrics* metrics = nullptr;  // of the model; they outlive the request
  openai::AnswerHead head;
  std::vector<Prompt> prompts;  // at least one
  // Sampling, stop strings, limits. The seed is that of the first choice; the others count up.
  engine::GenerateOptions options;
  std::int64_t choices = 1;  // of each prompt
  // How an answer is taken apart; none: it is content.
  std::optional<text::AnswerParserOptions> parts;
  bool is_single_call = false;  // the answer ends with its first call
  bool is_only_calls = false;   // a grammar makes the answer calls only, after its reasoning
  bool is_echo = false;         // with log-probabilities: those of the prompt, too
  bool is_stream = false;
  bool has_stream_usage = false;
  std::int64_t truncated_tokens = 0;  // that were left out of the prompts
};

// Makes the answer of what the engine says about the choices of a request. The request that it
// gives to the engine holds it. All but the cancel flag is of the thread of the engine's turns,
// once the request was submitted.
class GenerationJob : public std::enable_shared_from_this<GenerationJob> {
 public:
  GenerationJob(GenerationPlan plan, std::shared_ptr<Responder> responder, HeaderList headers);

  // Counts what the request holds while it waits and runs; before it is submitted. kOutOfMemory
  // when all answers would hold more than they may together.
  Status hold_plan();
  engine::Request request();
  // Set, it ends all choices; by any thread. The request has to be submitted with it.
  const std::shared_ptr<std::atomic<bool>>& cancel_flag() const { return cancel_; }

 private:
  void cancel() { *cancel_ = true; }
  class Writer;
  engine::Choice make_choice(std::size_t prompt, std::int64_t number, std::int64_t index);
  void choice_ended(Writer& writer, bool is_first, const Result<engine::GenerateResult>& result);
  // Counts what was added to the answer; ends the run when there is no room for it.
  Status charge(std::size_t bytes);
  // Ends the run for want of room.
  void overdraw();
  // Sends the head of a stream, once.
  void begin();
  void complete();
  void fail(const Status& status);

  GenerationPlan plan_;
  std::shared_ptr<Responder> responder_;
  HeaderList headers_;
  const std::shared_ptr<std::atomic<bool>> cancel_ = std::make_shared<std::atomic<bool>>(false);
  bool has_begun_ = false;  // the head of a stream was sent
  bool has_ended_ = false;  // the answer, or an error
  std::size_t open_ = 0;    // choices that have not ended
  AnswerRoom room_;
  openai::Usage usage_;
  std::vector<std::string> choices_;  // as the texts of their JSON, by index
};

}  // namespace anemone::serve
