// SPDX-License-Identifier: Apache-2.0
// What the masks of a step say, in a few integers: an executor that understands them needs no mask
// tensors, whose size grows with the context.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace anemone::exec {

// Positions [begin, end) of a context.
struct PositionRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  friend bool operator==(const PositionRange&, const PositionRange&) = default;
};

// A mask that an input of a function takes.
struct MaskFact {
  enum class Role {
    kAttention,  // [1, 1, T, S]: 0 where a token attends to a position, far below any score
                 // elsewhere
    kWrite,      // [1, 1, S, T]: 1 where a token is stored at a position, else 0
    // [1, 1, T, S + T]: as kAttention, with a column for each of the S positions that the function
    // takes of a cache as it is before the step, and one for each token of the step. Only for
    // functions whose caches are bound (CacheBinding::Kind::kAppend).
    kAttentionPastAndStep,
  };
  std::string input;  // its name
  Role role = Role::kAttention;
  // kAttention: positions that a token attends to at most, its own included; 0: no limit. A
  // bidirectional one goes as far ahead as back, but not beyond the step.
  std::int64_t window = 0;
  bool is_bidirectional = false;
};

// `count` tokens that stand at `position` and after it, in a run of a function for `tokens` (T):
// 0 <= position, 1 <= count <= T, position + count <= S (position <= S where the caches have no
// room for the step; any position if no window there is longer than S + 1). The other T - count
// tokens of the run are padding: they are stored nowhere, and what the run gives for them is
// unspecified, but finite where its inputs are. An operation of the function that multiplies T
// columns by a matrix of weights takes the tokens for columns.
struct StepFacts {
  std::int64_t position = 0;
  std::int64_t count = 0;
  std::int64_t tokens = 0;
  // Outlive the run.
  std::span<const MaskFact> masks = {};
};

// The fact about an input; nullptr without one. `facts` may be null.
const MaskFact* find_mask(const StepFacts* facts, std::string_view input);

// What token t of the run attends to by an attention mask; never empty.
PositionRange attended(const MaskFact& mask, std::int64_t position, std::int64_t count,
                       std::int64_t t);

}  // namespace anemone::exec
