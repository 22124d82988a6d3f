// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "engine/loop/engine.h"

namespace anemone::engine {

struct ChatPrompt {
  std::vector<std::int32_t> ids;
  bool is_in_reasoning = false;  // it ends where the answer's reasoning has begun
  bool is_behind_reasoning =
      false;  // it ends where that has ended: the template wrote an empty one
};

// Token ids of a conversation, ready for the assistant's answer: the chat template's text, with
// special tokens in it read as such. kNotFound when the model has no tokenizer or no template. The
// work counts against the budget, which may be null.
Result<ChatPrompt> make_chat_prompt(const Model& model, Json messages,
                                    Json variables = Json::object(), WorkBudget* budget = nullptr);
// The ids alone.
Result<std::vector<std::int32_t>> chat_prompt(const Model& model, Json messages,
                                              Json variables = Json::object(),
                                              WorkBudget* budget = nullptr);

// For templates that take tools as a text in the system message (text::takes_tools_in_message):
// moves "tools" of the variables there, as a list of functions. Adds a system message where there
// is none.
void put_tools_into_message(Json& messages, Json& variables);

// A chat. Each turn renders the whole conversation again; what the engine has of it already is not
// run again, so a turn costs its new tokens. Single-thread.
class Conversation {
 public:
  // The engine outlives the conversation, which runs its turns. kNotFound when the model has no
  // tokenizer or no chat template.
  static Result<Conversation> create(Engine& engine, std::shared_ptr<const Model> model);

  // The system message, first in every prompt; empty: none (templates may have their own).
  void set_system(std::string text) { system_ = std::move(text); }
  const std::string& system() const { return system_; }
  // Forgets all turns; the system message stays.
  void clear() { turns_ = Json::array(); }
  // [{"role", "content"}, ...], the system message included.
  Json messages() const;

  // Takes the place of everything said so far: a list as messages() gives it. kParseError, and no
  // change, for anything else. The turns have to come in pairs of user and assistant.
  Status set_messages(const Json& messages);

  bool is_empty() const { return turns_.empty(); }
  // Forgets the last user turn with its answer, and gives the user's text. Requires turns.
  std::string take_last();
  // Forgets the first user turn with its answer. Requires turns.
  void drop_oldest();
  // The ids that answer() would run for this turn. The errors of chat_prompt().
  Result<std::vector<std::int32_t>> prompt_of(std::string_view user) const;

  // Adds a user turn and the answer to it. A cancelled answer is kept as far as it came. An error
  // leaves the conversation as it was.
  Result<GenerateResult> answer(std::string_view user, const GenerateOptions& options);

  const Model& model() const { return *model_; }

 private:
  Conversation(Engine& engine, std::shared_ptr<const Model> model)
      : engine_(&engine), model_(std::move(model)) {}

  Engine* engine_;
  std::shared_ptr<const Model> model_;
  std::string system_;
  Json turns_ = Json::array();
};

}  // namespace anemone::engine
