// SPDX-License-Identifier: Apache-2.0
// What a person says to the chat itself and not to the model: lines that begin with a slash.
#pragma once

#include <anemone/status.h>

#include <optional>
#include <string>
#include <string_view>

#include "cli/run.h"
#include "engine/chat/conversation.h"

namespace anemone::cli {

struct ChatCommand {
  enum class Kind {
    kNone,    // no command: the text is for the model
    kDone,    // what it asked for was done and said
    kExit,    // the chat ends
    kAnswer,  // the model is to answer `text`
  };
  Kind kind = Kind::kNone;
  std::string text;
};

// Obeys a line. Changes the options with /set, the conversation with others; says on stderr what it
// did, or why it could not.
ChatCommand obey(std::string_view line, RunOptions& options, engine::Conversation& conversation);

// Obeys /set with the words after it:
//   NAME VALUE   sets the parameter, with "default" to what the model has, and returns its value:
//                "temperature 0.5"
//   NAME         returns its value
//   (nothing)    returns a line for the model, its context and each parameter
// kInvalidArgument names what can be set.
Result<std::string> set_parameter(std::string_view words, RunOptions& options,
                                  const engine::Model& model);

}  // namespace anemone::cli
