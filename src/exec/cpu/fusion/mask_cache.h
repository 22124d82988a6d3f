// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exec/step_facts.h"
#include "tensor/tensor.h"

namespace anemone::exec {

// A write mask [1, 1, S, T] whose entries are 0 or 1, with at most one 1 per row and per column.
struct WriteMask {
  bool is_one_hot = false;
  std::vector<std::int64_t> position_of_token;  // -1: stored nowhere
};

// An attention mask [1, 1, T, S] whose rows are 0 in one run of positions and far below any score
// elsewhere.
struct AttentionMask {
  bool has_runs = false;
  using Run = PositionRange;
  std::vector<Run> run_of_token;  // never empty ones; of all tokens if there are runs
  Run all;                        // from the first position that any token attends to, to the last
  std::int64_t tokens = 0;        // the others fill the run up, and are like the last of these

  void add(const Run& run);  // of the next token
};

// What the masks of a run say, for all layers: told by the caller as facts, or found out from a
// tensor, once. A mask goes by its view, which stays where it is. Single-thread; lives for the run.
class MaskCache {
 public:
  // From now on `mask` is what these facts say; its data is not looked at, and may be null.
  void set(const TensorView& mask, const MaskFact& fact, const StepFacts& facts);

  const WriteMask& write_mask(const TensorView& mask);
  const AttentionMask& attention_mask(const TensorView& mask);
  // Where the T tokens go that are appended to what `mask` [1, 1, T, S + T] is for: to the last T
  // positions, or where its facts say.
  const WriteMask& appended(const TensorView& mask);

 private:
  std::map<const TensorView*, WriteMask> writes_;
  std::map<const TensorView*, AttentionMask> attention_masks_;
};

}  // namespace anemone::exec
