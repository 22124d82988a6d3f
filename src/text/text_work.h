// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/work_budget.h"

namespace anemone::text {

// What the work on a text of that length may take when no request bounds it: far above what any
// real tokenizer takes, so that only a hostile one gets there.
inline WorkBudget::Limits text_limits(std::size_t bytes) {
  constexpr std::chrono::seconds kLeast{3};
  constexpr std::chrono::microseconds kPerByte{5};
  WorkBudget::Limits limits;
  limits.cpu_time = std::chrono::duration_cast<std::chrono::milliseconds>(
      kLeast + kPerByte * static_cast<std::int64_t>(bytes));
  limits.bytes = SIZE_MAX;
  return limits;
}

}  // namespace anemone::text
