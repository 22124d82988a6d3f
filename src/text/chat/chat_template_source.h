// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <optional>
#include <string>

#include "base/json.h"

namespace anemone::text {

// What a model folder says about chats.
struct ChatTemplateSource {
  std::string source;                   // the template for chats without tools
  std::optional<std::string> tool_use;  // another one for chats with tools
  // Texts for the template's variables bos_token and eos_token; absent when the folder names none.
  std::optional<std::string> bos_token;
  std::optional<std::string> eos_token;

  const std::string& for_tools(bool has_tools) const {
    return has_tools && tool_use ? *tool_use : source;
  }
};

// Reads chat_template.jinja, else "chat_template" of tokenizer_config.json (a text, or a list of
// {name, template} with "default" and "tool_use"), and the tokens of tokenizer_config.json (a text
// or {content}). kNotFound when the folder has no template. A `template_file` stands for all
// templates of the folder.
Result<ChatTemplateSource> find_chat_template(const std::string& folder,
                                              const std::string& template_file = {});

// Reads the template from the contents of a tokenizer_config.json; `subject` names it in messages.
Result<ChatTemplateSource> read_chat_template(const Json& tokenizer_config,
                                              const std::string& subject);

}  // namespace anemone::text
