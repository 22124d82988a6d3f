// SPDX-License-Identifier: Apache-2.0
#include "text/stream/stop_strings.h"

#include <algorithm>

namespace anemone::text {

StopStrings::StopStrings(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    // The borders of a stop string are what a search for it matches in the rest of itself.
    Search search{stop, {0}};
    for (std::size_t i = 1; i < stop.size(); ++i) {
      search.step(stop[i]);
      search.borders.push_back(search.matched);
    }
    search.matched = 0;
    searches_.push_back(std::move(search));
  }
}

void StopStrings::Search::step(char c) {
  while (matched > 0 && stop[matched] != c) matched = borders[matched - 1];
  if (stop[matched] == c) ++matched;
}

StopStrings::Outcome StopStrings::push(std::string_view piece) {
  Outcome outcome;
  if (stopped_) return outcome;
  for (const char c : piece) {
    held_.push_back(c);
    for (Search& search : searches_) {
      search.step(c);
      if (search.matched < search.stop.size()) continue;
      if (!outcome.stop || outcome.stop->size() < search.stop.size()) outcome.stop = search.stop;
    }
    if (!outcome.stop) continue;
    outcome.text = release(outcome.stop->size());
    held_.clear();
    stopped_ = true;
    return outcome;
  }
  std::size_t hold = 0;
  for (const Search& search : searches_) hold = std::max(hold, search.matched);
  outcome.text = release(hold);
  return outcome;
}

std::string StopStrings::finish() {
  return release(0);
}

std::string StopStrings::release(std::size_t hold) {
  const auto end = held_.end() - static_cast<std::ptrdiff_t>(hold);
  std::string text(held_.begin(), end);
  held_.erase(held_.begin(), end);
  return text;
}

}  // namespace anemone::text
