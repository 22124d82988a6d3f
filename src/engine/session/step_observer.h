// SPDX-License-Identifier: Apache-2.0
// Who watches the steps of a model: for measuring where their time goes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exec/profile.h"

namespace anemone::engine {

// The parts of a step of which an observer is told. Phases follow each other; none is in another.
enum class StepPhase {
  kProposals,  // tokens of speculative decoding are looked for
  kEmbedding,  // the host fills the inputs: embeddings of tokens, masks, positions
  kLayers,     // the packages of layers and experts
  kHeads,      // hidden states to logits
  kSampling,   // logits to a token and its text, with what its receiver does with it
};
inline constexpr std::array kStepPhases = {StepPhase::kProposals, StepPhase::kEmbedding,
                                           StepPhase::kLayers, StepPhase::kHeads,
                                           StepPhase::kSampling};
// "proposals", "embedding", "layers", "head" or "sampling".
constexpr std::string_view phase_name(StepPhase phase) {
  constexpr std::array<std::string_view, kStepPhases.size()> kNames = {
      "proposals", "embedding", "layers", "head", "sampling"};
  return kNames[static_cast<std::size_t>(phase)];
}

// Told what a step does when it begins and when it ends; every beginning has its end, after errors
// too. Called on the thread of the engine's turns alone, and does not throw. The steps are the same
// to the bit with an observer and without.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // A step that reads prompts, or one of texts that decode. Where long prompts are read around the
  // steps of other texts, those are steps inside of a step.
  virtual void step_begins(bool is_prompt) = 0;
  // `tokens` that the step has run, of all texts together.
  virtual void step_ends(std::int64_t tokens) = 0;
  virtual void phase_begins(StepPhase phase) = 0;
  virtual void phase_ends() = 0;
  // One function of a package runs. The executor adds the times of its steps to what this returns,
  // where it is not null, before the run ends.
  virtual exec::RunTimes* run_begins(std::string_view package, std::string_view function) = 0;
  virtual void run_ends() = 0;
};

// These tell an observer (or nobody: null) of what lies between their construction and their
// destruction.
class ObservedStep {
 public:
  ObservedStep(StepObserver* observer, bool is_prompt) : observer_(observer) {
    if (observer_ != nullptr) observer_->step_begins(is_prompt);
  }
  ~ObservedStep() {
    if (observer_ != nullptr) observer_->step_ends(tokens_);
  }
  ObservedStep(const ObservedStep&) = delete;
  ObservedStep& operator=(const ObservedStep&) = delete;

  void set_tokens(std::int64_t tokens) { tokens_ = tokens; }

 private:
  StepObserver* const observer_;
  std::int64_t tokens_ = 0;
};

class ObservedPhase {
 public:
  ObservedPhase(StepObserver* observer, StepPhase phase) : observer_(observer) {
    if (observer_ != nullptr) observer_->phase_begins(phase);
  }
  ~ObservedPhase() {
    if (observer_ != nullptr) observer_->phase_ends();
  }
  ObservedPhase(const ObservedPhase&) = delete;
  ObservedPhase& operator=(const ObservedPhase&) = delete;

 private:
  StepObserver* const observer_;
};

class ObservedRun {
 public:
  ObservedRun(StepObserver* observer, std::string_view package, std::string_view function)
      : observer_(observer) {
    if (observer_ != nullptr) times_ = observer_->run_begins(package, function);
  }
  ~ObservedRun() {
    if (observer_ != nullptr) observer_->run_ends();
  }
  ObservedRun(const ObservedRun&) = delete;
  ObservedRun& operator=(const ObservedRun&) = delete;

  exec::RunTimes* times() const { return times_; }

 private:
  StepObserver* const observer_;
  exec::RunTimes* times_ = nullptr;
};

}  // namespace anemone::engine
