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
// part in each call and proposes nothing until it has read all.
class DraftProposer : public Proposer {
 public:
  // kOutOfMemory when its caches do not fit.
  static Result<std::unique_ptr<DraftProposer>> create(std::shared_ptr<const Model> model);

  // nullopt where the text does not fit the context of the draft model.
  std::optional<int> look(std::span<const std::int32_t> ids) override;
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override;
  std::uint64_t bytes() const override { return sequence_->bytes(); }

 private:
  explicit DraftProposer(std::unique_ptr<Sequence> sequence)
      : runner_(sequence->shared_model()), sequence_(std::move(sequence)) {}
  // Runs tokens that follow those of the sequence.
  Status run(std::span<const std::int32_t> ids);

  StepRunner runner_;
  std::unique_ptr<Sequence> sequence_;
  std::span<const std::int32_t> ids_;  // of the last look
};

}  // namespace anemone::engine
