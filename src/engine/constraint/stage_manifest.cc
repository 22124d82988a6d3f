// SPDX-License-Identifier: Apache-2.0
#include "engine/constraint/stage_manifest.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/work_budget.h"

namespace anemone::engine {
namespace {

constexpr std::size_t kShownBytes = 40;

std::string shown(const Json& value) {
  return shortened(dump_json(value), kShownBytes);
}

bool holds(const std::vector<std::int32_t>& ids, std::int32_t id) {
  return std::ranges::find(ids, id) != ids.end();
}

class ManifestReader {
 public:
  ManifestReader(const StageVocabulary& vocabulary, std::string_view subject)
      : vocabulary_(vocabulary), subject_(subject), work_(std::string(subject), {}) {}

  Result<StageManifest> read(const Json& json) {
    ANEMONE_RETURN_IF_ERROR(
        check_members(json, "", {"name", "newline_token_id", "stop_token_ids", "stages"}));
    ANEMONE_RETURN_IF_ERROR(read_name(json));
    ANEMONE_RETURN_IF_ERROR(read_end_ids(json));
    ANEMONE_RETURN_IF_ERROR(read_stages(json));
    ANEMONE_RETURN_IF_ERROR(read_newline(json));
    return std::move(out_);
  }

 private:
  std::string place(std::string_view pointer) const {
    return fmt::format("{}{}{}", subject_, pointer.empty() ? "" : "#", pointer);
  }

  Status check_members(const Json& json, const std::string& pointer,
                       std::initializer_list<std::string_view> known) const {
    if (!json.is_object())
      return parse_error("[{}] expected an object, got {}", place(pointer), json.type_name());
    for (const auto& [name, value] : json.items())
      if (std::ranges::find(known, std::string_view(name)) == known.end())
        return invalid_argument("[{}] expected the members {}, got \"{}\"", place(pointer),
                                fmt::join(known, ", "), shortened(name, kShownBytes));
    return {};
  }

  Status read_name(const Json& json) {
    ANEMONE_ASSIGN_OR_RETURN(auto name, json_string(json, "name", place("")));
    out_.name = std::move(name).value_or("");
    if (out_.name.size() <= StageManifest::kMaxNameBytes) return {};
    return invalid_argument("[{}] expected a name of at most {} bytes, got {}", place("/name"),
                            StageManifest::kMaxNameBytes, out_.name.size());
  }

  Result<std::int32_t> read_id(const Json& value, const std::string& pointer) const {
    if (!value.is_number_integer())
      return parse_error("[{}] expected a token id, got {}", place(pointer), shown(value));
    if (value >= 0 && value < vocabulary_.size) return value.get<std::int32_t>();
    return invalid_argument("[{}] expected a token id of 0 to {}, got {}", place(pointer),
                            vocabulary_.size - 1, shown(value));
  }

  Result<std::vector<std::int32_t>> read_ids(const Json& list, const std::string& pointer,
                                             std::size_t most) const {
    if (!list.is_array())
      return parse_error("[{}] expected a list of token ids, got {}", place(pointer),
                         list.type_name());
    if (list.size() > most)
      return invalid_argument("[{}] expected at most {} token ids, got {}", place(pointer), most,
                              list.size());
    std::vector<std::int32_t> ids;
    ids.reserve(list.size());
    for (const Json& value : list) {
      ANEMONE_ASSIGN_OR_RETURN(const std::int32_t id,
                               read_id(value, fmt::format("{}/{}", pointer, ids.size())));
      ids.push_back(id);
    }
    return ids;
  }

  Status read_end_ids(const Json& json) {
    if (const Json* list = json_member(json, "stop_token_ids")) {
      ANEMONE_ASSIGN_OR_RETURN(out_.end_ids,
                               read_ids(*list, "/stop_token_ids", StageManifest::kMaxStopIds));
    }
    for (const std::int32_t id : vocabulary_.eos_ids)
      if (!holds(out_.end_ids, id)) out_.end_ids.push_back(id);
    return {};
  }

  Status read_stages(const Json& json) {
    const Json* list = json_member(json, "stages");
    if (list == nullptr || !list->is_array())
      return parse_error("[{}] expected a list of stages, got {}", place("/stages"),
                         list == nullptr ? "none" : list->type_name());
    if (list->empty() || list->size() > StageManifest::kMaxStages)
      return invalid_argument("[{}] expected 1 to {} stages, got {}", place("/stages"),
                              StageManifest::kMaxStages, list->size());
    out_.stages.reserve(list->size());
    for (const Json& value : *list) {
      const bool is_last = out_.stages.size() + 1 == list->size();
      const std::string pointer = fmt::format("/stages/{}", out_.stages.size());
      ANEMONE_ASSIGN_OR_RETURN(Stage stage, read_stage(value, pointer, is_last));
      out_.stages.push_back(std::move(stage));
    }
    return {};
  }

  Result<Stage> read_stage(const Json& json, const std::string& pointer, bool is_last) {
    if (!json.is_object())
      return parse_error("[{}] expected an object, got {}", place(pointer), json.type_name());
    const Json* kind = json_member(json, "kind");
    if (kind != nullptr && *kind == "literal") return read_literal(json, pointer, is_last);
    if (kind != nullptr && *kind == "field") return read_field(json, pointer);
    if (kind == nullptr || *kind != "open")
      return invalid_argument(R"([{}] expected the kind "literal", "field" or "open", got {})",
                              place(pointer), kind == nullptr ? "none" : shown(*kind));
    ANEMONE_RETURN_IF_ERROR(check_members(json, pointer, {"kind"}));
    if (!is_last)
      return invalid_argument(
          "[{}] expected no stage after an open one, which ends with the text, got another",
          place(pointer));
    return Stage{};
  }

  Result<Stage> read_literal(const Json& json, const std::string& pointer, bool is_last) {
    ANEMONE_RETURN_IF_ERROR(check_members(json, pointer, {"kind", "token_ids", "text"}));
    const Json* ids = json_member(json, "token_ids");
    ANEMONE_ASSIGN_OR_RETURN(const auto text, json_string(json, "text", place(pointer)));
    if ((ids != nullptr) == text.has_value())
      return invalid_argument("[{}] expected either token_ids or text, got {}", place(pointer),
                              text ? "both" : "neither");
    Stage out = {.kind = Stage::Kind::kLiteral};
    const std::size_t room = StageManifest::kMaxLiteralTokens - literal_tokens_;
    if (text) {
      ANEMONE_ASSIGN_OR_RETURN(out.ids, encode(*text, pointer + "/text"));
    } else {
      ANEMONE_ASSIGN_OR_RETURN(
          out.ids, read_ids(*ids, pointer + "/token_ids", StageManifest::kMaxLiteralTokens));
    }
    if (out.ids.empty())
      return invalid_argument("[{}] expected a literal of at least 1 token, got none",
                              place(pointer));
    if (out.ids.size() > room)
      return invalid_argument("[{}] expected literals of at most {} tokens in all, got more",
                              place(pointer), StageManifest::kMaxLiteralTokens);
    literal_tokens_ += out.ids.size();
    for (std::size_t i = 0; i < out.ids.size(); ++i)
      if (holds(out_.end_ids, out.ids[i]) && !(is_last && i + 1 == out.ids.size()))
        return invalid_argument(
            "[{}] expected no token that ends the text before the end of the last stage, got {}",
            place(pointer), out.ids[i]);
    return out;
  }

  Result<std::vector<std::int32_t>> encode(const std::string& text, const std::string& pointer) {
    if (vocabulary_.tokenizer == nullptr)
      return unsupported("[{}] expected token_ids for a model without a tokenizer, got a text",
                         place(pointer));
    // So that the tokenizer does not cut a text that is too long anyway.
    if (text.size() > kMaxTextBytes)
      return invalid_argument("[{}] expected a text of at most {} bytes, got {}", place(pointer),
                              kMaxTextBytes, text.size());
    ANEMONE_ASSIGN_OR_RETURN(auto ids, vocabulary_.tokenizer->encode(text, {.budget = &work_}));
    for (const std::int32_t id : ids)
      if (id >= vocabulary_.size)
        return invalid_argument("[{}] expected a text of tokens below {}, got {}", place(pointer),
                                vocabulary_.size, id);
    return ids;
  }

  Result<Stage> read_field(const Json& json, const std::string& pointer) {
    ANEMONE_RETURN_IF_ERROR(check_members(json, pointer, {"kind", "min_tokens", "max_tokens"}));
    const std::string subject = place(pointer);
    ANEMONE_ASSIGN_OR_RETURN(const auto least, json_int(json, "min_tokens", subject));
    ANEMONE_ASSIGN_OR_RETURN(const auto most, json_int(json, "max_tokens", subject));
    Stage out = {.kind = Stage::Kind::kField,
                 .min_tokens = least.value_or(0),
                 .max_tokens = most.value_or(StageManifest::kDefaultFieldTokens)};
    if (out.max_tokens < 1 || out.max_tokens > StageManifest::kMaxFieldTokens)
      return invalid_argument("[{}] expected max_tokens of 1 to {}, got {}", subject,
                              StageManifest::kMaxFieldTokens, out.max_tokens);
    if (out.min_tokens < 0 || out.min_tokens > out.max_tokens)
      return invalid_argument("[{}] expected min_tokens of 0 to max_tokens ({}), got {}", subject,
                              out.max_tokens, out.min_tokens);
    has_field_ = true;
    return out;
  }

  Status read_newline(const Json& json) {
    const std::string pointer = "/newline_token_id";
    if (const Json* id = json_member(json, "newline_token_id")) {
      ANEMONE_ASSIGN_OR_RETURN(out_.newline, read_id(*id, pointer));
    } else if (has_field_) {
      ANEMONE_ASSIGN_OR_RETURN(out_.newline, newline_of_tokenizer(place(pointer)));
    }
    if (out_.newline && holds(out_.end_ids, *out_.newline))
      return invalid_argument("[{}] expected a token that does not end the text, got {}",
                              place(pointer), *out_.newline);
    return {};
  }

  Result<std::int32_t> newline_of_tokenizer(const std::string& subject) {
    std::vector<std::int32_t> ids;
    if (vocabulary_.tokenizer != nullptr) {
      ANEMONE_ASSIGN_OR_RETURN(ids, vocabulary_.tokenizer->encode("\n", {.budget = &work_}));
    }
    if (ids.size() == 1 && ids.front() < vocabulary_.size) return ids.front();
    return invalid_argument(
        "[{}] expected a token id, got none: the model has no token of its own for a newline",
        subject);
  }

  static constexpr std::size_t kMaxTextBytes = 4 * StageManifest::kMaxLiteralTokens;

  const StageVocabulary& vocabulary_;
  const std::string_view subject_;
  WorkBudget work_;
  StageManifest out_;
  std::size_t literal_tokens_ = 0;
  bool has_field_ = false;
};

}  // namespace

Result<StageManifest> parse_stage_manifest(std::string_view json, const StageVocabulary& vocabulary,
                                           std::string_view subject) {
  ANEMONE_ASSIGN_OR_RETURN(const Json value, parse_json(json, subject));
  return ManifestReader(vocabulary, subject).read(value);
}

}  // namespace anemone::engine
