// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "exec/cpu/fusion/scratch.h"
#include "kernels/simd/kernels.h"

namespace anemone::exec {

// How many query rows of a key/value head a task takes, of `rows` that each of `heads` has at most:
// as many as the kernel gains from at a time, but no more than give every thread a task. Whole
// tiles, as far as there are.
inline std::int64_t attention_rows_of_task(std::int64_t rows, std::int64_t heads,
                                           std::int64_t threads,
                                           const kernels::simd::Kernels& kernels) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t fair = std::max<std::int64_t>(1, rows * heads / threads);
  const std::int64_t most = std::min({rows, fair, kernels.attend_rows});
  const std::int64_t parts = (rows + most - 1) / most;
  const std::int64_t even = (rows + parts - 1) / parts;
  return even <= kTile ? even : kernels::simd::round_up(even, kTile);
}

// The rows of a task and the memory of their attention.
class AttentionTask {
 public:
  // That of this thread, without rows.
  static AttentionTask& begin() {
    thread_local AttentionTask task;
    task.rows.clear();
    return task;
  }

  std::vector<kernels::simd::AttentionRow> rows;

  void run(const kernels::simd::Kernels& kernels, const kernels::simd::AttentionHead& head) {
    const auto count = static_cast<std::int64_t>(rows.size());
    kernels.attend(head, rows.data(), count,
                   scratch_.take<float>(kernels::simd::attend_scratch(count, head.dim)));
  }

 private:
  Scratch scratch_;
};

}  // namespace anemone::exec
