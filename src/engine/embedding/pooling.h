// SPDX-License-Identifier: Apache-2.0
// The embedding of a text: the hidden states after the final norm as one vector of length 1.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace anemone::engine {

// What becomes of the hidden states of all tokens. Decoders have seen the whole text only at its
// last token, which is why models that were trained for embeddings mostly use that.
enum class Pooling { kLast, kMean };
// "last", "mean". kUnsupported for "cls", as the first token of a decoder has seen no other one;
// kInvalidArgument for another name. The subject of the error is "pooling".
Result<Pooling> parse_pooling(std::string_view name);

// Takes the hidden states of one text, token by token. Single-thread.
class Pooler {
 public:
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}

  void add(std::span<const float> hidden);  // [hidden_size] of the next token
  // The vector, scaled to length 1. Call it once, after at least one token.
  std::vector<float> finish();

 private:
  Pooling pooling_;
  std::int64_t count_ = 0;
  std::vector<double> sum_;  // or the last one
};

// The first `dimensions` numbers of an embedding, at most all, scaled to length 1 again.
void shorten_embedding(std::vector<float>& embedding, std::size_t dimensions);

}  // namespace anemone::engine
