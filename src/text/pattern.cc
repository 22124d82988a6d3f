// SPDX-License-Identifier: Apache-2.0
#include "text/pattern.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/text_work.h"

namespace anemone::text {
namespace {

// Up to it, a search by std::string is fast whatever the text is.
constexpr std::size_t kShortLiteral = 16;

}  // namespace

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

Pattern::Pattern(std::string literal) : what_(std::move(literal)) {
  const auto& text = std::get<std::string>(what_);
  if (text.size() <= kShortLiteral) return;
  borders_.resize(text.size());
  for (std::size_t i = 1, border = 0; i < text.size(); ++i) {
    while (border > 0 && text[i] != text[border]) border = borders_[border - 1];
    if (text[i] == text[border]) ++border;
    borders_[i] = border;
  }
}

// Knuth, Morris and Pratt: linear, where a search by std::string may take the product of both
// lengths.
void Pattern::find_literal(std::string_view text, std::vector<Match>& matches) const {
  const auto& literal = std::get<std::string>(what_);
  std::size_t matched = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    while (matched > 0 && text[at] != literal[matched]) matched = borders_[matched - 1];
    if (text[at] == literal[matched]) ++matched;
    if (matched < literal.size()) continue;
    matches.push_back({at + 1 - matched, at + 1});
    matched = 0;
  }
}

Status Pattern::find_all(std::string_view text, std::vector<Match>& matches,
                         WorkBudget* work) const {
  if (const auto* regex = std::get_if<Regex>(&what_)) {
    if (work != nullptr) return regex->find_all(text, matches, *work);
    WorkBudget own("text", text_limits(text.size()));
    return regex->find_all(text, matches, own);
  }
  if (work != nullptr) ANEMONE_RETURN_IF_ERROR(work->spend(text.size()));
  const auto& literal = std::get<std::string>(what_);
  if (!borders_.empty()) {
    find_literal(text, matches);
    return ok_status();
  }
  for (std::size_t at = text.find(literal); at != text.npos;
       at = text.find(literal, at + literal.size()))
    matches.push_back({at, at + literal.size()});
  return ok_status();
}

Result<std::string> Pattern::replace_all(std::string_view text, std::string_view content,
                                         WorkBudget* work) const {
  std::vector<Match> matches;
  ANEMONE_RETURN_IF_ERROR(find_all(text, matches, work));
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
