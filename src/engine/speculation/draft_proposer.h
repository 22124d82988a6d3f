// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/sequence.h"
#include "engine/session/step_runner.h"
#include "engine/speculation/proposer.h"

namespace anemone::engine {

// kInvalidArgument for a draft model whose vocabulary is not that of `model`: the same number of
// ids, and the same tokenizer where both have one. kUnsupported for one that labels tokens or keeps
// recurrent states, which cannot go back by some tokens.
Status check_draft_model(const Model& draft, const Model& model);

// Proposes what a smaller model with the same vocabulary finds most likely, token after token. All
// its proposals have one source. It reads the text in steps of its own; of a long one it reads a
// part in each call. A call that reads more than a verified step adds proposes nothing, so that the
// time of reading does not count as the price of proposed tokens.
class DraftProposer : public Proposer {
 public:
  // `runner` runs the draft model for the proposers of all texts and outlives them. kOutOfMemory
  // when the caches of the text do not fit.
  static Result<std::unique_ptr<DraftProposer>> create(StepRunner& runner);

  // nullopt where the text does not fit the context of the draft model.
  std::optional<int> look(std::span<const std::int32_t> ids) override;
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override;
  std::uint64_t bytes() const override { return sequence_->bytes(); }

 private:
  DraftProposer(StepRunner& runner, std::unique_ptr<Sequence> sequence)
      : runner_(runner), sequence_(std::move(sequence)) {}
  // Runs tokens that follow those of the sequence.
  Status run(std::span<const std::int32_t> ids);

  StepRunner& runner_;
  std::unique_ptr<Sequence> sequence_;
  std::span<const std::int32_t> ids_;  // of the last look
};

}  // namespace anemone::engine
