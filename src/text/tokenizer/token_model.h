// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/work_budget.h"
#include "text/tokenizer/vocab.h"

namespace anemone::text {

// Turns one piece of text into ids. Thread-safe.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // Appends the ids of `piece`, which is not empty: raw bytes when the vocabulary is byte-level,
  // valid UTF-8 otherwise. Spends `work`: the error when that is used up.
  virtual Status tokenize(std::string_view piece, std::vector<std::int32_t>& ids,
                          WorkBudget& work) const = 0;
  virtual const Vocab& vocab() const = 0;
};

// The ids of "<0x00>" to "<0xFF>"; -1 for those that the vocabulary lacks.
std::vector<std::int32_t> find_byte_tokens(const Vocab& vocab);

}  // namespace anemone::text
