// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/post_processor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/escape.h"
#include "text/tokenizer/vocab.h"

namespace anemone::text {
namespace {

Result<std::int32_t> parse_id(const Json& json) {
  if (!json.is_number_integer() || json.get<std::int64_t>() < 0 ||
      json.get<std::int64_t>() > kMaxTokenId)
    return corrupt("[post_processor] expected a token id, got {}", shortened(dump_json(json), 40));
  return json.get<std::int32_t>();
}

// Real ones have fewer than ten.
constexpr std::size_t kMaxIds = 1024;

Status check_size(const std::vector<std::int32_t>& ids) {
  if (ids.size() <= kMaxIds) return ok_status();
  return unsupported(
      "[post_processor] expected at most {} tokens before and after a text, got more", kMaxIds);
}

// {"id": "<s>", "ids": [1], "tokens": ["<s>"]} in "special_tokens".
using Specials = std::unordered_map<std::string, const Json*>;
Status append_special(const Specials& specials, const Json& piece, std::vector<std::int32_t>& ids) {
  ANEMONE_ASSIGN_OR_RETURN(const auto name, json_string(piece, "id", "post_processor"));
  const auto it = name ? specials.find(*name) : specials.end();
  const Json* entry = it == specials.end() ? nullptr : it->second;
  const Json* list = entry != nullptr ? json_member(*entry, "ids") : nullptr;
  if (list == nullptr || !list->is_array())
    return corrupt("[post_processor] expected ids of the special token \"{}\", got none",
                   name.value_or(""));
  for (const Json& item : *list) {
    ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id, parse_id(item));
    ids.push_back(id);
    ANEMONE_RETURN_IF_ERROR(check_size(ids));
  }
  return ok_status();
}

Result<PostProcessor> parse_template(const Json& json) {
  const Json* single = json_member(json, "single");
  if (single == nullptr || !single->is_array())
    return parse_error("[post_processor TemplateProcessing] expected a list \"single\"");
  Specials specials;
  if (const Json* members = json_member(json, "special_tokens");
      members != nullptr && members->is_object())
    for (const auto& [name, entry] : members->items()) specials.emplace(name, &entry);
  PostProcessor out;
  bool seen_text = false;
  for (const Json& piece : *single) {
    if (const Json* special = json_member(piece, "SpecialToken")) {
      ANEMONE_RETURN_IF_ERROR(
          append_special(specials, *special, seen_text ? out.after : out.before));
    } else if (json_member(piece, "Sequence") != nullptr) {
      if (seen_text) return unsupported("[post_processor] expected the text once, got it twice");
      seen_text = true;
    } else {
      return parse_error("[post_processor TemplateProcessing] expected SpecialToken or Sequence");
    }
  }
  if (!seen_text)
    return unsupported("[post_processor] expected an item \"Sequence\" in \"single\", got none");
  return out;
}

// "cls": ["<s>", 0], "sep": ["</s>", 2].
Result<PostProcessor> parse_bert(const Json& json) {
  PostProcessor out;
  for (const bool first : {true, false}) {
    const Json* pair = json_member(json, first ? "cls" : "sep");
    if (pair == nullptr || !pair->is_array() || pair->size() != 2)
      return parse_error("[post_processor] expected cls and sep as [text, id]");
    ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id, parse_id((*pair)[1]));
    (first ? out.before : out.after).push_back(id);
  }
  return out;
}

}  // namespace

Result<PostProcessor> parse_post_processor(const Json& json) {
  ANEMONE_ASSIGN_OR_RETURN(const auto type, json_string(json, "type", "post_processor"));
  if (!type) return parse_error("[post_processor] expected an object with a type");
  if (*type == "ByteLevel") return PostProcessor{};
  if (*type == "TemplateProcessing") return parse_template(json);
  if (*type == "BertProcessing" || *type == "RobertaProcessing") return parse_bert(json);
  if (*type != "Sequence")
    return unsupported("[post_processor] expected a supported type, got {}", *type);
  const Json* list = json_member(json, "processors");
  if (list == nullptr || !list->is_array())
    return parse_error("[post_processor Sequence] expected a list of processors");
  PostProcessor out;
  for (const Json& step : *list) {
    ANEMONE_ASSIGN_OR_RETURN(const PostProcessor parsed, parse_post_processor(step));
    // A later one's come first: turned round below.
    out.before.insert(out.before.end(), parsed.before.rbegin(), parsed.before.rend());
    out.after.insert(out.after.end(), parsed.after.begin(), parsed.after.end());
    ANEMONE_RETURN_IF_ERROR(check_size(out.before));
    ANEMONE_RETURN_IF_ERROR(check_size(out.after));
  }
  std::reverse(out.before.begin(), out.before.end());
  return out;
}

}  // namespace anemone::text
