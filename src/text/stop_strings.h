// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::text {

// Watches streamed text for stop strings. Text that may be the beginning of one is held back, so
// that no part of a stop string that occurs ever gets out. Empty stop strings are ignored.
// Single-thread.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops);

  struct Outcome {
    std::string text;                 // may be shown now
    std::optional<std::string> stop;  // the stop string that ended the text
  };

  // The next piece of text. After a hit, later pieces give nothing. Of several stop strings the one
  // that is complete first wins; of those that end together, the one that began first.
  Outcome push(std::string_view piece);
  // The end of the text without a stop: what was held back.
  std::string finish();

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace anemone::text
