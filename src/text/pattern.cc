// SPDX-License-Identifier: Apache-2.0
#include "text/pattern.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace anemone::text {

Result<Pattern> Pattern::parse(const Json& json) {
  const Json* pattern = json_member(json, "pattern");
  if (pattern == nullptr) return parse_error("[tokenizer] expected a pattern, got none");
  ANEMONE_ASSIGN_OR_RETURN(const auto literal, json_string(*pattern, "String", "pattern"));
  if (literal) {
    if (literal->empty()) return unsupported("[pattern] expected some text, got an empty String");
    return Pattern(*literal);
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto regex, json_string(*pattern, "Regex", "pattern"));
  if (!regex) return parse_error("[pattern] expected String or Regex, got neither");
  ANEMONE_ASSIGN_OR_RETURN(Regex compiled, Regex::compile(*regex));
  return Pattern(std::move(compiled));
}

Status Pattern::find_all(std::string_view text, std::vector<Match>& matches) const {
  if (const auto* regex = std::get_if<Regex>(&what_)) return regex->find_all(text, matches);
  const auto& literal = std::get<std::string>(what_);
  for (std::size_t at = text.find(literal); at != text.npos;
       at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return ok_status();
}

Result<std::string> Pattern::replace_all(std::string_view text, std::string_view content) const {
  std::vector<Match> matches;
  ANEMONE_RETURN_IF_ERROR(find_all(text, matches));
  if (content.size() >
      std::max(kMaxRewrittenBytes, text.size()) / std::max<std::size_t>(1, matches.size()))
    return unsupported("[pattern] expected replacements that make at most {} bytes, got {} of {}",
                       kMaxRewrittenBytes, matches.size(), content.size());
  std::string out;
  out.reserve(text.size() + matches.size() * content.size());
  std::size_t last = 0;
  for (const Match& match : matches) {
    out += text.substr(last, match.begin - last);
    out += content;
    last = match.end;
  }
  out += text.substr(last);
  return out;
}

}  // namespace anemone::text
