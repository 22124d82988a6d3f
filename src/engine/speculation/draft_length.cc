// SPDX-License-Identifier: Apache-2.0
#include "engine/speculation/draft_length.h"

#include <algorithm>
#include <cmath>

namespace anemone::engine {
namespace {

// What a proposal has to gain, as times are not exact.
constexpr double kLeastGain = 1.03;
// Weight of what was tested before, for each token that is tested.
constexpr double kDecay = 0.96;
// A trial in a pause: its length, and the most steps between two of them.
constexpr std::int64_t kTrial = 2;
constexpr std::int64_t kMostInterval = 512;
// What trials may cost, as a part of the time between them.
constexpr double kTrialShare = 0.01;

// Expected tokens of a proposal, each accepted with probability `right` if those before it are.
double accepted_of(double right, std::int64_t proposed) {
  if (right >= 1) return static_cast<double>(proposed);
  return right * (1 - std::pow(right, static_cast<double>(proposed))) / (1 - right);
}

}  // namespace

double DraftLength::expected(int source, std::int64_t proposed) const {
  return accepted_of(at(source).right / at(source).tested, proposed);
}

std::int64_t DraftLength::choose(int source, std::int64_t most, const StepForecast& step,
                                 const StepTimes& times) {
  const double without = times.expected(step.tokens);
  if (most == 0 || without <= 0) return 0;
  const double least_rate = kLeastGain * step.made / without;
  double best_rate = 0;
  std::int64_t best = 0;
  for (std::int64_t count = 1; count <= most; ++count) {
    const double seconds =
        times.expected(step.tokens + count) + step.draft_s * static_cast<double>(count);
    const double rate = (step.made + expected(source, count)) / seconds;
    if (rate < least_rate || rate <= best_rate) continue;
    best_rate = rate;
    best = count;
  }
  Source& paused = sources_[static_cast<std::size_t>(source)];
  paused.is_trial = best == 0;
  if (best > 0) return best;
  const std::int64_t trial = std::min(most, kTrial);
  const double cost =
      times.expected(step.tokens + trial) - without + step.draft_s * static_cast<double>(trial);
  if (++paused.waited < paused.interval ||
      cost > kTrialShare * without * static_cast<double>(paused.waited))
    return 0;
  return trial;
}

void DraftLength::add(int source, std::int64_t proposed, std::int64_t accepted) {
  Source& known = sources_[static_cast<std::size_t>(source)];
  const std::int64_t tested = std::min(proposed, accepted + 1);
  for (std::int64_t i = 0; i < tested; ++i) {
    known.tested = known.tested * kDecay + 1;
    known.right = known.right * kDecay + (i < accepted ? 1 : 0);
  }
  known.waited = 0;
  if (accepted == proposed)
    known.interval = 2;  // the text has changed its ways
  else if (known.is_trial)
    known.interval = std::min(2 * known.interval, kMostInterval);
}

}  // namespace anemone::engine
