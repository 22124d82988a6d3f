// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/generation/generator.h"
#include "serve/http/message.h"
#include "serve/openai/answer.h"
#include "serve/scheduler.h"

namespace anemone::serve {

// A request of the OpenAI API, with everything decided.
struct GenerationPlan {
  struct Prompt {
    std::vector<std::int32_t> ids;
    std::string echo;  // what the answer begins with
  };
  std::shared_ptr<const engine::Model> model;
  openai::AnswerHead head;
  std::vector<Prompt> prompts;  // at least one
  // Sampling, stop strings, limits. The seed is that of the first choice; the others count up.
  engine::GenerateOptions options;
  std::int64_t choices = 1;  // of each prompt
  bool is_echo = false;      // with log-probabilities: those of the prompt, too
  bool is_stream = false;
  bool has_stream_usage = false;
};

// Generates all choices one after the other in one session, and answers.
class GenerationJob : public Job {
 public:
  GenerationJob(GenerationPlan plan, std::shared_ptr<Responder> responder, HeaderList headers);

  // Counts what the request holds while it waits and runs; before it is submitted. kOutOfMemory
  // when all answers would hold more than they may together.
  Status hold_plan();

  const std::shared_ptr<const engine::Model>& model() const override { return plan_.model; }
  std::span<const std::int32_t> prompt() const override { return plan_.prompts.front().ids; }
  void run(engine::Session& session) override;
  void fail(const Status& status) override;

 private:
  class Scorer;
  class Writer;
  // Counts what was added to the answer, or taken from it.
  Status charge(std::size_t bytes);
  void discharge(std::size_t bytes);
  // Ends the run for want of room.
  void overdraw();
  Status run_choices(engine::Session& session);
  Status run_choice(engine::Session& session, const GenerationPlan::Prompt& prompt,
                    std::int64_t number, std::int64_t index);

  GenerationPlan plan_;
  std::shared_ptr<Responder> responder_;
  HeaderList headers_;
  bool has_begun_ = false;  // the head of a stream was sent
  std::size_t held_ = 0;    // bytes, as charged
  Status overdrawn_;        // the first charge or piece that found no room
  openai::Usage usage_;
  std::vector<std::string> choices_;  // those that are complete, as the texts of their JSON
};

}  // namespace anemone::serve
