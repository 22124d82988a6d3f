// SPDX-License-Identifier: Apache-2.0
// Speculative decoding: a text that decodes runs some tokens that a proposer names together with
// the one that it has to run, and keeps those that the model would have picked itself. Every token
// is picked from the logits of its position as without proposals, with the same random numbers, so
// the text is the same wherever the logits are, as on the CPU (Leviathan, Kalman, Matias: Fast
// Inference from Transformers via Speculative Decoding, with the draft's distribution as a point).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/step_runner.h"
#include "engine/speculation/draft_length.h"
#include "engine/speculation/proposer.h"
#include "engine/speculation/step_times.h"

namespace anemone::engine {

struct SpeculationOptions {
  // Proposals from runs of up to so many tokens that the text repeats (NgramProposer); 0: none.
  std::int64_t ngram = 0;
  // Proposals of a smaller model with the same vocabulary (DraftProposer); null: none. It comes
  // before `ngram`.
  std::shared_ptr<const Model> draft;
  // Whoever proposes for a text, instead of both of them.
  std::function<Result<std::unique_ptr<Proposer>>()> make_proposer;
  // false: as many tokens as there are, whether it pays or not.
  bool is_adaptive = true;

  bool is_on() const { return ngram > 0 || draft != nullptr || make_proposer != nullptr; }
};

// kInvalidArgument for numbers out of range, or for a draft model that has another vocabulary than
// `model` or recurrent states, which cannot be truncated.
Status check_speculation(const SpeculationOptions& options, const Model& model);

// Memory of the caches of the draft model, if there is one, for a text of so many tokens.
std::uint64_t draft_cache_bytes(const SpeculationOptions& options, const Model& model,
                                std::int64_t tokens);

// What speculation keeps of one text.
struct Speculation {
  std::unique_ptr<Proposer> proposer;
  DraftLength length;
  int source = 0;                    // of the tokens
  std::vector<std::int32_t> tokens;  // proposed for the next step
};

// Decides what the texts of one model propose, from the times of its steps. Single-thread.
class Speculator {
 public:
  Speculator(SpeculationOptions options, const Model& model);

  // For a text that begins; null where nothing proposes: speculation is off, or the model keeps
  // recurrent states, which cannot go back by some tokens.
  Result<std::unique_ptr<Speculation>> make();
  const SpeculationOptions& options() const { return options_; }

  // Call begin() before each step of texts that decode, then propose() for each that may speculate
  // with what is in the step so far, and end() after the step.
  void begin(std::int64_t texts);
  // Fills Speculation::tokens with at most `most` tokens that may follow `ids`.
  Status propose(Speculation& text, std::span<const std::int32_t> ids, std::int64_t most);
  void end(double seconds);
  // Counts the last step of a text: its first `accepted` proposed tokens were accepted.
  static void count(Speculation& text, std::int64_t accepted);

 private:
  const SpeculationOptions options_;
  const bool can_speculate_;
  const std::int64_t ids_;                    // of the model: those from here on cannot be run
  std::unique_ptr<StepRunner> draft_runner_;  // of all texts; null without a draft model
  StepTimes times_;
  StepForecast step_;             // that is being prepared
  double draft_s_ = 0;            // seconds for each proposed token
  bool has_proposals_ = false;    // the step that is being prepared
  std::int64_t since_plain_ = 0;  // steps since one without proposals
};

}  // namespace anemone::engine
