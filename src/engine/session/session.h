// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/session/sequence.h"
#include "engine/session/step_runner.h"

namespace anemone::engine {

struct PrefillOptions {
  // Called for every position in order. When unset the head runs for the last position only.
  LogitsCallback on_logits;
  // Called for every position in order with what the final norm gave. When it is set, the head runs
  // for on_logits alone.
  HiddenCallback on_hidden = {};
  // Called after every step.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Polled between steps; when it is set, the call ends with kCancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

struct DecodeStep;

// A sequence that its owner runs by hand, step after step: for measuring, comparing and testing a
// model. What answers requests is Engine. Single-thread.
class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model);

  const Model& model() const { return sequence_->model(); }
  std::int64_t position() const { return sequence_->position(); }
  const std::vector<std::int32_t>& tokens() const { return sequence_->tokens(); }
  // What the model says after the last token, as Prediction has it; empty when the last call did
  // not ask for it. Valid until the next call.
  std::span<const float> logits() const {
    const LogitRow* const row = sequence_->prediction().row;
    return row == nullptr ? std::span<const float>() : row->logits();
  }
  std::optional<std::int32_t> argmax() const { return sequence_->prediction().argmax; }

  // Adds tokens after those that are there. kInvalidArgument for no tokens, an id outside the
  // vocabulary or too many tokens for the context, kUnsupported for on_logits of a model compiled
  // with --argmax and for on_hidden of one that does not give hidden states: then nothing has
  // changed. kCorrupt for logits that are NaN: then the session is empty. After any other error the
  // steps that were finished stay, or none does: see position().
  Status prefill(std::span<const std::int32_t> ids, const PrefillOptions& options = {});

  // Makes the session hold exactly `ids`: keeps what it has in common with them, drops the rest and
  // adds what is missing. The last token is always run, for its logits. Returns the number of
  // tokens that were kept. With on_logits or on_hidden nothing is kept: every position is run.
  Result<std::int64_t> prefill_to(std::span<const std::int32_t> ids,
                                  const PrefillOptions& options = {});

  // Adds one token and returns logits().
  Result<std::span<const float>> decode(std::int32_t id);

  // Forgets all tokens from `position` on. 0 <= position <= position(). A session with recurrent
  // states runs the tokens that stay again.
  Status truncate(std::int64_t position);
  void reset() { sequence_->clear(); }

 private:
  friend Status decode_batch(std::span<const DecodeStep> steps);

  explicit Session(std::unique_ptr<Sequence> sequence)
      : runner_(sequence->shared_model()), sequence_(std::move(sequence)) {}
  // Makes the caches fit for a text of `length` tokens; runs tokens again where that drops them.
  Status prepare(std::int64_t length, const std::atomic<bool>* cancel);
  Status check(std::span<const std::int32_t> ids, const PrefillOptions& options) const;
  Status run(std::span<const std::int32_t> ids, const PrefillOptions& options);

  StepRunner runner_;
  std::unique_ptr<Sequence> sequence_;
};

struct DecodeStep {
  Session* session = nullptr;
  std::int32_t id = 0;
};

// Does what Session::decode() does for several sessions of one model in one pass over its weights,
// with the same bits where the executor promises them. The errors are those of decode(), and
// kInvalidArgument for a session that comes twice or is of another model: then nothing has changed.
Status decode_batch(std::span<const DecodeStep> steps);

}  // namespace anemone::engine
