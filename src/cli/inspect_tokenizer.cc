// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "cli/inspect.h"
#include "cli/output.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::cli {
namespace {

// "Sequence(NFC, Lowercase)" of a part of the file; "none" when it is null.
std::string part_text(const Json* part, int depth = 0) {
  constexpr int kMaxDepth = 4;
  if (part == nullptr || !part->is_object()) return "none";
  const Json* type = json_member(*part, "type");
  std::string out = type != nullptr && type->is_string() ? type->get<std::string>() : "?";
  for (const char* key : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    const Json* list = json_member(*part, key);
    if (list == nullptr || !list->is_array() || depth == kMaxDepth) continue;
    out += "(";
    for (std::size_t i = 0; i < list->size(); ++i)
      out += (i > 0 ? ", " : "") + part_text(&(*list)[i], depth + 1);
    out += ")";
  }
  return out;
}

std::size_t size_of(const Json* value) {
  return value == nullptr ? 0 : value->size();
}

}  // namespace

Result<Report> inspect_tokenizer(const InspectOptions& options) {
  std::error_code error;
  std::string path = options.path;
  if (std::filesystem::is_directory(path, error)) {
    ANEMONE_ASSIGN_OR_RETURN(path, inner_file(options.path, "tokenizer.json"));
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(path));
  constexpr std::size_t kMemory = 1 << 30;  // many more values than a config has
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(text, path, {.max_memory = kMemory}));
  const Json* model = json_member(json, "model");
  if (model == nullptr || !model->is_object())
    return corrupt("[{}] expected a tokenizer with a \"model\", got another file", path);
  // Refuses what would not encode.
  ANEMONE_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::parse(text, path));

  std::int64_t special = 0;
  std::vector<std::vector<std::string>> added;
  Json added_json = Json::array();
  if (const Json* tokens = json_member(json, "added_tokens");
      tokens != nullptr && tokens->is_array())
    for (const Json& token : *tokens) {
      ANEMONE_ASSIGN_OR_RETURN(const auto id, json_int(token, "id", path));
      ANEMONE_ASSIGN_OR_RETURN(const auto content, json_string(token, "content", path));
      ANEMONE_ASSIGN_OR_RETURN(const auto is_special, json_bool(token, "special", path));
      if (is_special.value_or(false)) ++special;
      added.push_back({std::to_string(id.value_or(-1)), escaped(content.value_or("")),
                       is_special.value_or(false) ? "special" : ""});
      added_json.push_back({{"id", id.value_or(-1)},
                            {"content", content.value_or("")},
                            {"special", is_special.value_or(false)}});
    }
  const std::string type = part_text(model);
  const std::size_t vocabulary = size_of(json_member(*model, "vocab"));
  const std::size_t merges = size_of(json_member(*model, "merges"));
  std::vector<std::vector<std::string>> rows = {
      {"normalizer", part_text(json_member(json, "normalizer"))},
      {"pre-tokenizer", part_text(json_member(json, "pre_tokenizer"))},
      {"post-processor", part_text(json_member(json, "post_processor"))},
      {"decoder", part_text(json_member(json, "decoder"))}};
  Report report;
  report.text =
      fmt::format("{}: tokenizer, {}, {} tokens, {} merges, {} added ({} special), ids below {}\n",
                  escaped(path), escaped(type), vocabulary, merges, added.size(), special,
                  tokenizer->vocab_size());
  for (auto& row : rows) row[1] = escaped(row[1]);
  report.text += table(rows, "  ");
  if (!added.empty()) report.text += "  added tokens\n" + table(added, "    ");
  report.json = {{"file", path},
                 {"kind", "tokenizer"},
                 {"model", type},
                 {"vocab", vocabulary},
                 {"merges", merges},
                 {"vocab_size", tokenizer->vocab_size()},
                 {"added_tokens", added_json}};
  for (const auto& row : rows) report.json[row[0]] = row[1];
  return report;
}

}  // namespace anemone::cli
