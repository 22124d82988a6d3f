// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/speculation/proposer.h"

namespace anemone::engine {

// Proposes what followed the last tokens of the text when they stood in it before: the longest run
// of up to `longest` last tokens that the text holds elsewhere, the last such place of it (prompt
// lookup decoding). The source of a proposal is the length of the run.
//
// The places of all runs are in one hash table, of which a run overwrites another one with the same
// hash. A look compares the tokens themselves, so it finds a true place or none. Each token of the
// text costs a constant time, and the table has a bounded size, whatever the text.
class NgramProposer : public Proposer {
 public:
  // Shorter runs are found by chance.
  static constexpr std::int64_t kShortest = 2;
  static constexpr std::int64_t kMaxLongest = kMaxSources - 1;
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 18;

  // kShortest <= longest <= kMaxLongest.
  explicit NgramProposer(std::int64_t longest);

  std::optional<int> look(std::span<const std::int32_t> ids) override;
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override;
  std::uint64_t bytes() const override { return places_.size() * sizeof(places_[0]); }

 private:
  // Adds the runs that end before `end`, whose next token is the one at `end`.
  void add(std::size_t end);
  void grow(std::size_t tokens);
  std::size_t slot(std::size_t end, std::size_t length) const;

  const std::size_t longest_;
  std::span<const std::int32_t> ids_;  // of the last look
  std::vector<std::uint32_t> places_;  // after each run, by its hash; 0: none
  std::size_t added_ = 0;              // tokens before which all runs are in the table
  std::size_t place_ = 0;              // found by the last look
};

}  // namespace anemone::engine
