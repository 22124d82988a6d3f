// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "engine/speculation/proposer.h"
#include "engine/speculation/step_times.h"

namespace anemone::engine {

// What is known of a step before the tokens that one text proposes are added to it.
struct StepForecast {
  std::int64_t tokens = 0;  // of all texts
  double made = 0;          // tokens of the texts that the step is expected to make
  double draft_s = 0;       // seconds that one proposed token takes to make
};

// Decides how many tokens one text proposes: as many as make most tokens per second, by what was
// accepted so far and by the measured times of steps. Where no number of tokens pays, the source of
// the proposals pauses; it is tried again now and then, more and more seldom. Single-thread.
class DraftLength {
 public:
  // 0 to `most` tokens from this source. Each call stands for a step of the text in which the
  // source had a proposal.
  std::int64_t choose(int source, std::int64_t most, const StepForecast& step,
                      const StepTimes& times);
  // The expected number of tokens that are accepted of so many.
  double expected(int source, std::int64_t proposed) const;
  // What became of a proposal of at least one token. A choice that gave none is not told: the
  // source stays as it was.
  void add(int source, std::int64_t proposed, std::int64_t accepted);

 private:
  struct Source {
    // Tokens that were tested, the first of each proposal that is wrong included, and those of them
    // that were right. What is long ago counts less. It begins as if a few had been tested.
    double tested = 4;
    double right = 2;
    std::int64_t waited = 0;    // steps since the last proposal
    std::int64_t interval = 8;  // steps between proposals in a pause
    bool is_trial = false;      // what was chosen last is a trial in a pause
  };
  const Source& at(int source) const { return sources_[static_cast<std::size_t>(source)]; }

  std::array<Source, Proposer::kMaxSources> sources_{};
};

}  // namespace anemone::engine
