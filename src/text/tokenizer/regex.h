// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/charged.h"

namespace anemone::text {

struct Match {
  std::size_t begin;
  std::size_t end;
};

// A compiled pattern of a tokenizer.json (PCRE2 with JIT). Thread-safe after compile.
class Regex {
 public:
  // An Oniguruma pattern; kUnsupported for constructs that PCRE2 would read differently.
  static Result<Regex> compile(std::string_view oniguruma_pattern);

  // Appends each match in valid UTF-8 `text`, left to right, without overlap. Spends the time that
  // it takes from `work`: the error when that is used up. kUnsupported when one match needs more
  // backtracking than its limit.
  Status find_all(std::string_view text, ChargedVector<Match>& matches, WorkBudget& work) const;

 private:
  explicit Regex(std::string source, std::shared_ptr<void> code)
      : source_(std::move(source)), code_(std::move(code)) {}

  std::string source_;
  std::shared_ptr<void> code_;  // pcre2_code, shared by copies: it is read-only
};

}  // namespace anemone::text
