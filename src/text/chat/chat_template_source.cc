// SPDX-License-Identifier: Apache-2.0
#include "text/chat/chat_template_source.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "text/jinja/parser.h"

namespace anemone::text {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// "bos_token": "<s>" or {"content": "<s>", ...}.
Result<std::optional<std::string>> token_text(const Json& config, std::string_view key,
                                              std::string_view path) {
  const Json* token = json_member(config, key);
  if (token != nullptr && token->is_object()) return json_string(*token, "content", path);
  return json_string(config, key, path);
}

Status read_named_templates(const Json& list, const std::string& path, ChatTemplateSource& out,
                            bool& found) {
  for (const Json& item : list) {
    ANEMONE_ASSIGN_OR_RETURN(const auto name, json_string(item, "name", path));
    ANEMONE_ASSIGN_OR_RETURN(const auto text, json_string(item, "template", path));
    if (!name || !text)
      return parse_error("[{}] expected name and template in chat_template's list", path);
    if (*name == "default") {
      out.source = *text;
      found = true;
    } else if (*name == "tool_use") {
      out.tool_use = *text;
    }
  }
  // A folder with the tool template alone uses it for everything.
  if (!found && out.tool_use) {
    out.source = *out.tool_use;
    found = true;
  }
  return ok_status();
}

// The tokens, and the templates where there is none yet.
Status read_config(const Json& config, const std::string& path, ChatTemplateSource& out,
                   bool& found) {
  ANEMONE_ASSIGN_OR_RETURN(out.bos_token, token_text(config, "bos_token", path));
  ANEMONE_ASSIGN_OR_RETURN(out.eos_token, token_text(config, "eos_token", path));
  const Json* member = json_member(config, "chat_template");
  if (found || member == nullptr) return {};
  if (member->is_array()) return read_named_templates(*member, path, out, found);
  ANEMONE_ASSIGN_OR_RETURN(auto text, json_string(config, "chat_template", path));
  out.source = std::move(*text);
  found = true;
  return {};
}

}  // namespace

Result<ChatTemplateSource> find_chat_template(const std::string& folder,
                                              const std::string& template_file) {
  ChatTemplateSource out;
  bool found = false;
  std::string file = template_file;
  if (file.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(file, inner_file(folder, "chat_template.jinja"));
  }
  if (!template_file.empty() || exists(file)) {
    ANEMONE_ASSIGN_OR_RETURN(out.source, read_file(file, jinja::kMaxTemplateBytes));
    found = true;
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::string path, inner_file(folder, "tokenizer_config.json"));
  if (exists(path)) {
    ANEMONE_ASSIGN_OR_RETURN(const Json config, read_json_file(path));
    ANEMONE_RETURN_IF_ERROR(read_config(config, path, out, found));
  }
  if (!found)
    return not_found(
        "[{}] expected chat_template.jinja or chat_template in tokenizer_config.json, got neither",
        folder);
  return out;
}

Result<ChatTemplateSource> read_chat_template(const Json& tokenizer_config,
                                              const std::string& subject) {
  ChatTemplateSource out;
  bool found = false;
  ANEMONE_RETURN_IF_ERROR(read_config(tokenizer_config, subject, out, found));
  if (!found) return not_found("[{}] expected a chat template, got none", subject);
  return out;
}

}  // namespace anemone::text
