// SPDX-License-Identifier: Apache-2.0
// What texts may take when no request bounds it: far above what any real tokenizer takes, so that
// only a hostile one gets there.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "base/work_budget.h"

namespace anemone::text {

// CPU time and memory that tokenizing a text of `bytes` bytes, or decoding as many ids, may take.
inline WorkBudget::Limits text_limits(std::size_t bytes) {
  constexpr std::chrono::seconds kLeast{2};
  constexpr std::chrono::microseconds kPerByte{1};
  constexpr std::size_t kLeastMemory = std::size_t{512} << 20;
  constexpr std::size_t kMemoryPerByte = 32;
  WorkBudget::Limits limits;
  limits.cpu_time = std::chrono::duration_cast<std::chrono::milliseconds>(
      kLeast + kPerByte * static_cast<std::int64_t>(bytes));
  limits.bytes = kLeastMemory + kMemoryPerByte * bytes;
  return limits;
}

// CPU time and memory that loading the added tokens of a tokenizer may take.
inline constexpr WorkBudget::Limits kLoadLimits = {std::chrono::milliseconds(1000),
                                                   std::size_t{512} << 20};

// CPU time and memory that decoding one answer, all its tokens together, may take. A million tokens
// take a second and 5 MB.
inline constexpr WorkBudget::Limits kAnswerLimits = {std::chrono::milliseconds(2000),
                                                     std::size_t{64} << 20};

}  // namespace anemone::text
