// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/charged.h"
#include "text/table_hash.h"

namespace anemone::text {

// A set of byte strings with values, for finding them in a text from left to right, at each place
// the longest. Linear in the keys to build and in the text to search, whatever they are: the
// automaton of Aho and Corasick over the keys read backwards, which after each byte of a text read
// backwards knows the longest key that begins there. Thread-safe once built.
class TokenFinder {
 public:
  struct Hit {
    std::size_t begin;
    std::size_t end;
    std::int32_t value;
  };

  // The first value of a key stays. build() comes after the last one.
  void insert(std::string_view key, std::int32_t value);
  void build();

  // Appends the keys in `text`, without overlap. The error is that of the budget that the hits are
  // charged to.
  Status find_all(std::string_view text, ChargedVector<Hit>& hits) const;
  bool empty() const { return nodes_.size() <= 1; }

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;    // bytes from the root
    std::uint32_t failure = 0;  // failure link: the longest proper suffix that is a node
    std::uint32_t output = 0;   // output link: the nearest node with a value on the way of failure
                                // links; 0: none
    std::int32_t value = -1;
    unsigned char byte = 0;  // from the parent
  };
  struct Edge {
    std::uint64_t key = 0;  // of the node and the byte; 0: free
    std::uint32_t to = 0;
  };
  static std::uint64_t key_of(std::uint32_t node, unsigned char byte) {
    return (std::uint64_t{node} << 8 | byte) + 1;
  }
  std::size_t slot_of(std::uint64_t key) const;
  std::uint32_t child(std::uint32_t node, unsigned char byte) const;
  std::uint32_t add_child(std::uint32_t node, unsigned char byte);

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the root first; 0 also means no child
  std::array<std::uint32_t, 256> roots_{};          // the root's children
  std::vector<Edge> edges_;                         // of the others; a power of two, half full
  std::size_t edge_count_ = 0;
  int shift_ = 63;  // see table_place()
  std::uint64_t multiplier_ = table_multiplier();
};

}  // namespace anemone::text
