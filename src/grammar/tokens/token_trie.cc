// SPDX-License-Identifier: Apache-2.0
#include "grammar/tokens/token_trie.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/work_budget.h"

namespace anemone::grammar {
namespace {

// A vocabulary is a file of the user, not a request: its tokens may take a while.
constexpr WorkBudget::Limits kVocabularyLimits{std::chrono::seconds(60), std::size_t{2} << 30};

}  // namespace

Result<std::shared_ptr<const TokenTrie>> TokenTrie::build(
    const text::Tokenizer& tokenizer, std::span<const std::int32_t> eos_ids,
    std::span<const std::int32_t> kept_special) {
  WorkBudget work("vocabulary", kVocabularyLimits);
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  tokens.reserve(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const bool is_kept = std::ranges::find(kept_special, id) != kept_special.end();
    if (!tokenizer.has(id) || (tokenizer.is_special(id) && !is_kept)) continue;
    ANEMONE_ASSIGN_OR_RETURN(std::string bytes, tokenizer.token_bytes(id, work));
    tokens.emplace_back(std::move(bytes), id);
  }
  return build(std::move(tokens), tokenizer.vocab_size(), {eos_ids.begin(), eos_ids.end()});
}

Result<std::shared_ptr<const TokenTrie>> TokenTrie::build(
    std::vector<std::pair<std::string, std::int32_t>> tokens, std::int32_t vocab_size,
    std::vector<std::int32_t> eos_ids) {
  const auto trie = std::make_shared<TokenTrie>();
  trie->vocab_size_ = vocab_size;
  for (const std::int32_t id : eos_ids)
    if (id < 0 || id >= vocab_size)
      return invalid_argument("[end-of-sequence token] expected 0 to {}, got {}", vocab_size - 1,
                              id);
  std::erase_if(tokens, [&](const auto& token) {
    return token.first.empty() ||
           std::find(eos_ids.begin(), eos_ids.end(), token.second) != eos_ids.end();
  });
  for (const auto& [bytes, id] : tokens) {
    if (id < 0 || id >= vocab_size)
      return invalid_argument("[token] expected 0 to {}, got {}", vocab_size - 1, id);
    if (bytes.size() > std::numeric_limits<std::uint16_t>::max())
      return unsupported("[token {}] expected at most 65535 bytes, got {}", id, bytes.size());
    trie->max_token_bytes_ = std::max(trie->max_token_bytes_, bytes.size());
  }
  trie->eos_ids_ = std::move(eos_ids);

  trie->bytes_at_.assign(static_cast<std::size_t>(vocab_size) + 1, 0);
  std::sort(tokens.begin(), tokens.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::size_t next = 0;
  for (std::int32_t id = 0; id < vocab_size; ++id) {
    for (; next < tokens.size() && tokens[next].second == id; ++next)
      trie->bytes_ += tokens[next].first;
    trie->bytes_at_[static_cast<std::size_t>(id) + 1] =
        static_cast<std::uint32_t>(trie->bytes_.size());
  }

  std::sort(tokens.begin(), tokens.end());
  std::vector<Node>& nodes = trie->nodes_;
  nodes.push_back({});
  std::vector<std::uint32_t> path{0};  // nodes of the token before
  std::string_view before;
  const auto close_to = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes[path.back()].end = static_cast<std::uint32_t>(nodes.size());
  };
  for (const auto& [bytes, id] : tokens) {
    const auto differ = std::mismatch(before.begin(), before.end(), bytes.begin(), bytes.end());
    close_to(static_cast<std::size_t>(differ.second - bytes.begin()));
    for (std::size_t at = path.size() - 1; at < bytes.size(); ++at) {
      path.push_back(static_cast<std::uint32_t>(nodes.size()));
      nodes.push_back({.depth = static_cast<std::uint16_t>(at + 1),
                       .byte = static_cast<unsigned char>(bytes[at])});
    }
    Node& node = nodes[path.back()];
    if (node.token < 0) {
      node.token = id;
    } else {
      node.has_more_tokens = true;
      trie->more_tokens_.emplace_back(path.back(), id);
    }
    before = bytes;
  }
  close_to(0);
  nodes[0].end = static_cast<std::uint32_t>(nodes.size());
  // In the order of the nodes already, because the tokens were.
  return std::shared_ptr<const TokenTrie>(trie);
}

std::span<const std::pair<std::uint32_t, std::int32_t>> TokenTrie::more_tokens(
    std::uint32_t node) const {
  const auto begin = std::lower_bound(more_tokens_.begin(), more_tokens_.end(),
                                      std::pair(node, std::numeric_limits<std::int32_t>::min()));
  auto end = begin;
  while (end != more_tokens_.end() && end->first == node) ++end;
  return {begin, end};
}

std::string_view TokenTrie::token_bytes(std::int32_t id) const {
  if (id < 0 || id >= vocab_size_) return {};
  const std::size_t at = static_cast<std::size_t>(id);
  return std::string_view(bytes_).substr(bytes_at_[at], bytes_at_[at + 1] - bytes_at_[at]);
}

}  // namespace anemone::grammar
