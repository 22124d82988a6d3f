// SPDX-License-Identifier: Apache-2.0
// How a program puts the tokens of a step into a cache of keys or values, and what it attends to.
#pragma once

#include <optional>
#include <vector>

#include "exec/cpu/fusion/graph.h"

namespace anemone::exec {

struct CacheUpdate {
  int state = -1;                      // a state, or
  std::optional<PreparedCache> cache;  // a cache in tensors
  Shape shape;                         // of the whole cache
  DType dtype = DType::kFp16;
  int mask = -1;    // write mask [1, 1, S, T]; -1 where the tokens go elsewhere
  int tokens = -1;  // [1, KV, T, D]
  std::vector<PreparedOp*> inner;
  // The tokens go to these positions of one row of the state.
  struct AtPosition {
    std::int64_t row = 0;
    IntegerSource begin, end;
    std::int64_t read_positions = 0;  // that the attention takes, the first ones
  };
  std::optional<AtPosition> at_position;

  // Where the tokens go to: after those of the cache where nothing else is said.
  bool is_appended() const { return mask < 0 && !at_position; }

  // Whether both are the same kind of cache: one operation attends to one as it does to the other.
  bool is_like(const CacheUpdate& other) const {
    return (state < 0) == (other.state < 0) && mask == other.mask &&
           at_position.has_value() == other.at_position.has_value() &&
           (!cache || cache->kind == other.cache->kind);
  }
};

// The update behind the keys or values that an attention takes, in one of the forms:
//   before * (1 - reduce_sum(mask, -1)) + mask @ tokens, or before * (1 - mask) + mask * tokens for
//   one token, where `before` is a state or the first positions of one, and the state becomes this,
//   in the first positions or as a whole; or `before` is an input of the function and this an
//   output;
//   concat(past, tokens) along the positions, where `past` is an input and `tokens` is an output;
//   the first positions of a row of a state after a slice_update of it (sliced_states.h). What is
//   inside stays: SlicedStates::remove_unread() takes it away where nobody else needs it.
// `root` is where the attention will stand.
std::optional<CacheUpdate> match_cache_update(const FusionGraph& graph, int reg,
                                              const PreparedOp& root);
// The update concat(past, tokens) of an attention that takes both without joining them: `past` is
// an input of the function, which others may use as well, and `tokens` is an output.
std::optional<CacheUpdate> match_past_and_step(const FusionGraph& graph, int past, int tokens);

}  // namespace anemone::exec
