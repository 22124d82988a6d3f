// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace anemone::engine {

// Proposes how one text goes on (speculative decoding). The model verifies the proposal in one step
// of several tokens, so a wrong one costs time and never changes the text. Single-thread.
class Proposer {
 public:
  // Sources are numbered below this.
  static constexpr int kMaxSources = 16;
  // Tokens of a proposal at most.
  static constexpr std::int64_t kMostTokens = 15;

  virtual ~Proposer() = default;

  // Looks at the text as it is now: the prompt and what was made, of which later calls bring more.
  // Returns the source of the proposal that it can make, or nullopt if it has none. Proposals of
  // one source are about equally good, so how many of them were accepted is counted by source.
  virtual std::optional<int> look(std::span<const std::int32_t> ids) = 0;
  // Adds up to `most` tokens that may follow the text of the last look(); none if it has none
  // after all. After an error the text goes on without proposals.
  virtual Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) = 0;
  // Memory of caches that it keeps for the text.
  virtual std::uint64_t bytes() const { return 0; }
};

}  // namespace anemone::engine
