// SPDX-License-Identifier: Apache-2.0
#include "engine/speculation/step_times.h"

#include <algorithm>

namespace anemone::engine {
namespace {

// Part of the time of a step that one more token is taken to cost until it was measured: little,
// so that a wider step is tried, which then is measured.
constexpr double kAssumedCost = 0.05;

}  // namespace

std::size_t StepTimes::index_of(std::int64_t tokens) {
  return std::clamp<std::size_t>(static_cast<std::size_t>(tokens), 1, kMostTokens);
}

double StepTimes::Times::median() const {
  std::array<double, kKept> sorted = last;
  const std::size_t used = std::min(count, kKept);
  std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(used));
  return sorted[used / 2];
}

void StepTimes::add(std::int64_t tokens, double seconds) {
  Times& times = times_[index_of(tokens)];
  times.last[times.count++ % kKept] = seconds;
}

double StepTimes::expected(std::int64_t tokens) const {
  const std::size_t wanted = index_of(tokens);
  std::size_t below = wanted;
  while (below > 0 && times_[below].count == 0) --below;
  std::size_t above = wanted;
  while (above <= kMostTokens && times_[above].count == 0) ++above;
  const bool has_above = above <= kMostTokens;
  if (below == 0 && !has_above) return 0;
  if (below == 0)
    return times_[above].median() / (1 + kAssumedCost * static_cast<double>(above - wanted));
  const double shorter = times_[below].median();
  if (below == wanted) return shorter;
  if (!has_above) return shorter * (1 + kAssumedCost * static_cast<double>(wanted - below));
  const double longer = times_[above].median();
  return shorter + (longer - shorter) * static_cast<double>(wanted - below) /
                       static_cast<double>(above - below);
}

}  // namespace anemone::engine
