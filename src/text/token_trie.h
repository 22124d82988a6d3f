// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace anemone::text {

// A set of byte strings with values, for finding the leftmost-longest one in a text.
class TokenTrie {
 public:
  struct Hit {
    std::size_t begin;
    std::size_t end;
    std::int32_t value;
  };

  // The first value of a key stays.
  void insert(std::string_view key, std::int32_t value);
  // The first place at or after `from` where a key starts, with the longest key there.
  std::optional<Hit> find_first(std::string_view text, std::size_t from) const;
  bool empty() const { return nodes_.size() <= 1; }

 private:
  struct Node {
    std::vector<std::pair<unsigned char, std::uint32_t>> children;
    std::int32_t value = -1;
  };
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the root first; 0 also means no child
  std::array<bool, 256> starts_{};                  // bytes that begin a key
};

}  // namespace anemone::text
