// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::text {

// Watches streamed text for stop strings. Text that may be the beginning of one is held back, so
// that no part of a stop string that occurs ever gets out. Empty stop strings are ignored.
// The work is proportional to the text times the number of stop strings, whatever their lengths.
// Single-thread.
class StopStrings {
 public:
  explicit StopStrings(const std::vector<std::string>& stops);

  struct Outcome {
    std::string text;                 // may be shown now
    std::optional<std::string> stop;  // the stop string that ended the text
  };

  // Adds the next piece of text. After a hit, later pieces give nothing. If several stop strings
  // match, the one that is complete first wins; if they end together, the one that began first.
  Outcome push(std::string_view piece);
  // The end of the text without a stop: what was held back.
  std::string finish();

 private:
  // The search of Knuth, Morris and Pratt for one stop string.
  struct Search {
    std::string stop;
    std::vector<std::size_t> borders;  // [n - 1]: the longest border of the first n bytes
    std::size_t matched = 0;           // bytes of the stop string that the text ends with

    void step(char c);
  };

  // Takes all but the last `hold` bytes out of what is held.
  std::string release(std::size_t hold);

  std::vector<Search> searches_;
  std::deque<char> held_;
  bool stopped_ = false;
};

}  // namespace anemone::text
