// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace anemone::grammar {

// The tokens of a vocabulary by their bytes, as a prefix tree in one array: the nodes below a node
// follow it directly, so that a walk reads memory in order. Immutable and thread-safe; built once
// per model.
class TokenTrie {
 public:
  struct Node {
    std::uint32_t end = 0;         // one past the last node below this one
    std::int32_t token = -1;       // the token that ends here; -1: none
    std::uint16_t depth = 0;       // bytes from the root; the root, node 0, has none
    unsigned char byte = 0;        // that leads here
    bool has_more_tokens = false;  // of the same bytes: more_tokens()
  };

  // Special tokens other than `kept_special` and those without bytes are left out. `eos_ids` are
  // the tokens that end a text; they may be special, and are never part of one. kInvalidArgument
  // for an id outside the vocabulary, kUnsupported for a token of more than 65,535 bytes.
  static Result<std::shared_ptr<const TokenTrie>> build(
      const text::Tokenizer& tokenizer, std::span<const std::int32_t> eos_ids,
      std::span<const std::int32_t> kept_special = {});
  // Builds the trie from the bytes and the id of each token, without a tokenizer; same errors.
  static Result<std::shared_ptr<const TokenTrie>> build(
      std::vector<std::pair<std::string, std::int32_t>> tokens, std::int32_t vocab_size,
      std::vector<std::int32_t> eos_ids);

  const std::vector<Node>& nodes() const { return nodes_; }
  std::span<const std::pair<std::uint32_t, std::int32_t>> more_tokens(std::uint32_t node) const;
  std::int32_t vocab_size() const { return vocab_size_; }
  std::span<const std::int32_t> eos_ids() const { return eos_ids_; }
  std::size_t max_token_bytes() const { return max_token_bytes_; }
  // Bytes of a token of the trie; empty for others.
  std::string_view token_bytes(std::int32_t id) const;

 private:
  std::vector<Node> nodes_;
  std::vector<std::pair<std::uint32_t, std::int32_t>> more_tokens_;  // by node
  std::vector<std::int32_t> eos_ids_;
  std::string bytes_;                    // of all tokens
  std::vector<std::uint32_t> bytes_at_;  // by id, and one past the last
  std::int32_t vocab_size_ = 0;
  std::size_t max_token_bytes_ = 0;
};

}  // namespace anemone::grammar
