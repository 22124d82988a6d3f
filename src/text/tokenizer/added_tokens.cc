// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/text_work.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(decode_code_point(text, last_character(text)).value);
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word_character(decode_code_point(text, 0).value);
}

Status too_long(std::size_t bytes) {
  return corrupt("[added_tokens] expected at most {} bytes of text, got {}", AddedTokens::kMaxBytes,
                 bytes);
}

}  // namespace

Result<AddedTokens> AddedTokens::build(std::vector<AddedToken> tokens,
                                       const Normalizer* normalizer) {
  AddedTokens set;
  std::size_t total = 0;
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;  // nothing to find
    total += token.content.size();
    if (total > kMaxBytes) return too_long(total);
    if (const auto it = set.by_content_.find(token.content); it != set.by_content_.end())
      return corrupt("[added_tokens] expected each token once, got \"{}\" twice", token.content);
    if (!set.by_id_.emplace(token.id, set.tokens_.size()).second)
      return corrupt("[added_tokens] expected each id once, got {} twice", token.id);
    set.by_content_.emplace(token.content, set.tokens_.size());
    set.tokens_.push_back(std::move(token));
  }
  WorkBudget work("added_tokens", kLoadLimits);
  std::size_t normalized_bytes = 0;
  // Two normalized tokens may become the same text: special ones come first and win.
  for (const bool special : {true, false}) {
    for (std::size_t i = 0; i < set.tokens_.size(); ++i) {
      AddedToken& token = set.tokens_[i];
      if (token.special != special) continue;
      token.text = token.content;
      MemoryCharge memory(work);
      if (token.normalized && normalizer != nullptr)
        ANEMONE_RETURN_IF_ERROR(normalizer->apply(token.text, memory, work));
      normalized_bytes += token.text.size();
      if (normalized_bytes > kMaxBytes) return too_long(normalized_bytes);
      TokenFinder& finder = token.normalized ? set.normalized_ : set.raw_;
      finder.insert(token.text, static_cast<std::int32_t>(i));
    }
  }
  set.raw_.build();
  set.normalized_.build();
  return set;
}

Status AddedTokens::split(std::string_view text, Stage stage, bool parse_special,
                          ChargedVector<TextSpan>& spans, WorkBudget& work) const {
  ANEMONE_RETURN_IF_ERROR(work.spend(text.size()));
  ChargedVector<TokenFinder::Hit> hits(work);
  ANEMONE_RETURN_IF_ERROR(finder(stage).find_all(text, hits));
  ANEMONE_RETURN_IF_ERROR(spans.make_room(2 * hits.size() + 1));
  std::size_t done = 0;
  std::size_t spaces_end = 0;  // where the white space after the last token ends
  for (const TokenFinder::Hit& hit : hits) {
    const AddedToken& token = tokens_[static_cast<std::size_t>(hit.value)];
    // A match that does not count still takes its characters, as in Hugging Face's matcher.
    if (token.special && !parse_special) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, hit.begin)) || starts_with_word(text.substr(hit.end))))
      continue;
    std::size_t begin = hit.begin;
    std::size_t end = hit.end;
    if (token.lstrip)
      begin = std::max(trailing_space_begin(text.substr(0, begin), std::min(done, begin)), done);
    if (token.rstrip) {
      if (end >= spaces_end) spaces_end = end + leading_space_bytes(text.substr(end));
      end = spaces_end;
    }
    if (done < begin) spans.push_back({done, begin, -1});
    spans.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) spans.push_back({done, text.size(), -1});
  return ok_status();
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
