// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>

#include "base/charged.h"
#include "base/json.h"

namespace anemone::text {

// One step from the text as given to the text that is cut into tokens. Immutable, thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // `text` is valid UTF-8 before and after; `held` is what `work` is charged for it. Spends `work`:
  // the error when that is used up.
  virtual Status apply(std::string& text, MemoryCharge& held, WorkBudget& work) const = 0;
};

// The "normalizer" of a tokenizer.json: NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip
// and Sequence. kUnsupported names any other.
Result<std::unique_ptr<const Normalizer>> parse_normalizer(const Json& json);

}  // namespace anemone::text
