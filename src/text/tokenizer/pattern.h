// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/charged.h"
#include "base/json.h"
#include "text/tokenizer/regex.h"

namespace anemone::text {

// The "pattern" of a Split or Replace: {"String": "..."} or {"Regex": "..."}. Thread-safe.
class Pattern {
 public:
  static Result<Pattern> parse(const Json& json);

  // Both spend `work`: the error when that is used up.
  // Appends the matches in valid UTF-8 `text`, left to right, without overlap.
  Status find_all(std::string_view text, ChargedVector<Match>& matches, WorkBudget& work) const;
  // `text` with each match replaced by `content`. The memory is there when the call begins to fill
  // it; whoever keeps the result charges it.
  Result<std::string> replace_all(std::string_view text, std::string_view content,
                                  WorkBudget& work) const;

 private:
  explicit Pattern(Regex regex) : what_(std::move(regex)) {}
  explicit Pattern(std::string literal);
  Status find_literal(std::string_view text, ChargedVector<Match>& matches) const;

  std::variant<std::string, Regex> what_;
  std::vector<std::size_t> borders_;  // of the beginnings of a long literal
};

}  // namespace anemone::text
