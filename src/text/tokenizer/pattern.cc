// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/pattern.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

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
Status Pattern::find_literal(std::string_view text, ChargedVector<Match>& matches) const {
  const auto& literal = std::get<std::string>(what_);
  std::size_t matched = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    while (matched > 0 && text[at] != literal[matched]) matched = borders_[matched - 1];
    if (text[at] == literal[matched]) ++matched;
    if (matched < literal.size()) continue;
    ANEMONE_RETURN_IF_ERROR(matches.push({at + 1 - matched, at + 1}));
    matched = 0;
  }
  return ok_status();
}

Status Pattern::find_all(std::string_view text, ChargedVector<Match>& matches,
                         WorkBudget& work) const {
  if (const auto* regex = std::get_if<Regex>(&what_)) return regex->find_all(text, matches, work);
  ANEMONE_RETURN_IF_ERROR(work.spend(text.size()));
  if (!borders_.empty()) return find_literal(text, matches);
  const auto& literal = std::get<std::string>(what_);
  for (std::size_t at = text.find(literal); at != text.npos;
       at = text.find(literal, at + literal.size()))
    ANEMONE_RETURN_IF_ERROR(matches.push({at, at + literal.size()}));
  return ok_status();
}

Result<std::string> Pattern::replace_all(std::string_view text, std::string_view content,
                                         WorkBudget& work) const {
  ChargedVector<Match> matches(work);
  ANEMONE_RETURN_IF_ERROR(find_all(text, matches, work));
  const std::size_t size = text.size() + matches.size() * content.size();
  MemoryCharge memory(work);
  ANEMONE_RETURN_IF_ERROR(memory.hold(size));
  ANEMONE_RETURN_IF_ERROR(work.spend(size));
  std::string out;
  out.reserve(size);
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
