// SPDX-License-Identifier: Apache-2.0
#include "text/token_trie.h"

namespace anemone::text {

std::uint32_t TokenTrie::child(std::uint32_t node, unsigned char byte) const {
  for (const auto& [edge, to] : nodes_[node].children)
    if (edge == byte) return to;
  return 0;
}

void TokenTrie::insert(std::string_view key, std::int32_t value) {
  if (key.empty()) return;
  starts_[static_cast<unsigned char>(key[0])] = true;
  std::uint32_t node = 0;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[node].children.emplace_back(byte, next);
    }
    node = next;
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

std::optional<TokenTrie::Hit> TokenTrie::find_first(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<Hit> longest;
    std::uint32_t node = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      node = child(node, static_cast<unsigned char>(text[at]));
      if (node == 0) break;
      if (nodes_[node].value >= 0) longest = Hit{begin, at + 1, nodes_[node].value};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace anemone::text
