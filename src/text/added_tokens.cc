// SPDX-License-Identifier: Apache-2.0
#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// Start of the last character of the non-empty valid `text`.
std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(decode_code_point(text, last_character(text)).value);
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word_character(decode_code_point(text, 0).value);
}

std::size_t leading_space_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode_code_point(text, at);
    if (!is_white_space(point.value)) break;
    at += static_cast<std::size_t>(point.length);
  }
  return at;
}

// Where the white space at the end of text[floor..] begins.
std::size_t trailing_space_begin(std::string_view text, std::size_t floor) {
  std::size_t end = text.size();
  while (end > floor) {
    const std::size_t at = last_character(text.substr(0, end));
    if (at < floor || !is_white_space(decode_code_point(text, at).value)) break;
    end = at;
  }
  return end;
}

}  // namespace

Result<AddedTokens> AddedTokens::build(std::vector<AddedToken> tokens,
                                       const Normalizer* normalizer) {
  AddedTokens set;
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;  // nothing to find
    if (const auto it = set.by_content_.find(token.content); it != set.by_content_.end())
      return corrupt("[added_tokens] expected each token once, got \"{}\" twice", token.content);
    if (!set.by_id_.emplace(token.id, set.tokens_.size()).second)
      return corrupt("[added_tokens] expected each id once, got {} twice", token.id);
    set.by_content_.emplace(token.content, set.tokens_.size());
    set.tokens_.push_back(std::move(token));
  }
  // Two normalized tokens may become the same text: special ones come first and win.
  for (const bool special : {true, false}) {
    for (std::size_t i = 0; i < set.tokens_.size(); ++i) {
      AddedToken& token = set.tokens_[i];
      if (token.special != special) continue;
      token.text = token.content;
      if (token.normalized && normalizer != nullptr)
        ANEMONE_RETURN_IF_ERROR(normalizer->apply(token.text));
      auto& trie = token.normalized ? set.normalized_trie_ : set.raw_trie_;
      trie.insert(token.text, static_cast<std::int32_t>(i));
    }
  }
  return set;
}

void AddedTokens::split(std::string_view text, Stage stage, bool parse_special,
                        std::vector<TextSpan>& spans) const {
  const TokenTrie& tokens = trie(stage);
  std::size_t done = 0;
  std::size_t search = 0;
  while (search < text.size()) {
    const auto hit = tokens.find_first(text, search);
    if (!hit) break;
    search = hit->end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(hit->value)];
    // A match that does not count still takes its characters, as in Hugging Face's matcher.
    if (token.special && !parse_special) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, hit->begin)) || starts_with_word(text.substr(hit->end))))
      continue;
    std::size_t begin = hit->begin;
    std::size_t end = hit->end;
    if (token.lstrip)
      begin = std::max(trailing_space_begin(text.substr(0, begin), std::min(done, begin)), done);
    if (token.rstrip) end += leading_space_bytes(text.substr(end));
    if (done < begin) spans.push_back({done, begin, -1});
    spans.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) spans.push_back({done, text.size(), -1});
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto it = by_content_.find(std::string(content));
  return it == by_content_.end() ? nullptr : &tokens_[it->second];
}

}  // namespace anemone::text
