// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace anemone::grammar {

// The tokens that may come next: one bit for each id of the vocabulary.
class TokenMask {
 public:
  explicit TokenMask(std::int32_t vocab_size)
      : vocab_size_(vocab_size), words_((static_cast<std::size_t>(vocab_size) + 63) / 64) {}

  void allow(std::int32_t id) {
    words_[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (id % 64);
  }
  void allow_all_of(const TokenMask& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }
  bool allows(std::int32_t id) const {
    return id >= 0 && id < vocab_size_ &&
           ((words_[static_cast<std::size_t>(id) / 64] >> (id % 64)) & 1) != 0;
  }
  bool is_empty() const {
    return std::all_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word == 0; });
  }
  std::int64_t count() const {
    std::int64_t count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  // The token that is allowed, if there is exactly one.
  std::optional<std::int32_t> only() const {
    std::optional<std::int32_t> found;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == 0) continue;
      if (found || !std::has_single_bit(words_[i])) return std::nullopt;
      found = static_cast<std::int32_t>(i * 64) + std::countr_zero(words_[i]);
    }
    return found;
  }
  std::size_t byte_size() const { return words_.size() * sizeof(std::uint64_t); }

  // Makes the logits of all other tokens minus infinity, those of ids beyond the vocabulary
  // (padding rows) too. Those of allowed tokens stay as they are.
  void apply(std::span<float> logits) const {
    for (std::size_t id = 0; id < logits.size(); ++id)
      if (id >= static_cast<std::size_t>(vocab_size_) || ((words_[id / 64] >> (id % 64)) & 1) == 0)
        logits[id] = -std::numeric_limits<float>::infinity();
  }

 private:
  std::int32_t vocab_size_;
  std::vector<std::uint64_t> words_;
};

}  // namespace anemone::grammar
