// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

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
  struct Run {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  std::vector<Run> run_of_token;  // never empty ones
  Run all;                        // from the first position that any token attends to, to the last
};

// What the masks of a run say, found out once for all layers. Single-thread; lives for the run.
class MaskCache {
 public:
  const WriteMask& write_mask(const TensorView& mask);
  const AttentionMask& attention_mask(const TensorView& mask);

 private:
  std::map<const std::byte*, WriteMask> writes_;
  std::map<const std::byte*, AttentionMask> attention_masks_;
};

}  // namespace anemone::exec
