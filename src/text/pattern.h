// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "text/regex.h"

namespace anemone::text {

// What replacements and normal forms may make of a short text. A longer one may become as long as
// itself again.
inline constexpr std::size_t kMaxRewrittenBytes = std::size_t{64} << 20;

// The "pattern" of a Split or Replace: {"String": "..."} or {"Regex": "..."}. Thread-safe.
class Pattern {
 public:
  static Result<Pattern> parse(const Json& json);

  // Both spend `work`: the error when that is used up. Null stands for the limits of a text alone.
  // Appends the matches in valid UTF-8 `text`, left to right, without overlap.
  Status find_all(std::string_view text, std::vector<Match>& matches, WorkBudget* work) const;
  // `text` with each match replaced by `content`.
  Result<std::string> replace_all(std::string_view text, std::string_view content,
                                  WorkBudget* work) const;

 private:
  explicit Pattern(Regex regex) : what_(std::move(regex)) {}
  explicit Pattern(std::string literal);
  void find_literal(std::string_view text, std::vector<Match>& matches) const;

  std::variant<std::string, Regex> what_;
  std::vector<std::size_t> borders_;  // of the beginnings of a long literal
};

}  // namespace anemone::text
