// SPDX-License-Identifier: Apache-2.0
#include "text/stop_strings.h"

#include <algorithm>
#include <utility>

namespace anemone::text {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

StopStrings::Outcome StopStrings::push(std::string_view piece) {
  Outcome outcome;
  if (stopped_) return outcome;
  held_ += piece;
  std::size_t begin = std::string::npos;
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const std::size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const std::size_t stop_end = at + stop.size();
    if (stop_end > end || (stop_end == end && at >= begin)) continue;
    begin = at;
    end = stop_end;
    outcome.stop = stop;
  }
  if (outcome.stop) {
    outcome.text = held_.substr(0, begin);
    held_.clear();
    stopped_ = true;
    return outcome;
  }
  // Hold the longest end of the text that a stop string begins with.
  std::size_t hold = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > hold; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) {
        hold = n;
        break;
      }
    }
  }
  outcome.text = held_.substr(0, held_.size() - hold);
  held_.erase(0, held_.size() - hold);
  return outcome;
}

std::string StopStrings::finish() {
  return std::exchange(held_, {});
}

}  // namespace anemone::text
