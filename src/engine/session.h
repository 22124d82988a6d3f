// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model.h"

namespace anemone::engine {

struct PrefillOptions {
  // Called for every prompt position in order with its logits [vocab_size], valid during the call.
  // When unset the head runs for the last position only. An error ends the prefill.
  std::function<Status(std::int64_t position, std::span<const float> logits)> on_logits;
  // Called after every chunk.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Looked at between chunks: kCancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

// One conversation: the tokens so far and the caches that hold them. The caches are a function of
// the tokens alone: a session that was continued, or cut and continued, gives the same logits as a
// new one. Single-thread; several sessions of one model may run in parallel.
class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model);

  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }
  std::int64_t position() const { return static_cast<std::int64_t>(tokens_.size()); }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  // Logits after the last token, [vocab_size]; empty when the last call did not compute them, and
  // always for a greedy model. Valid until the next call.
  std::span<const float> logits() const { return logits_; }
  // What a greedy model (Manifest::is_greedy) has in place of logits: the token with the highest
  // one, the first of equals.
  std::optional<std::int32_t> likeliest() const { return likeliest_; }

  // Adds tokens after those that are there, in chunks of the widest function. kInvalidArgument for
  // no tokens, an id outside the vocabulary or too many tokens for the context, kUnsupported for
  // on_logits of a greedy model: then nothing has changed. After any other error the chunks that
  // were finished stay: see position().
  Status prefill(std::span<const std::int32_t> ids, const PrefillOptions& options = {});

  // Makes the session hold exactly `ids`: keeps what it has in common with them, drops the rest and
  // adds what is missing. The last token is always run, for its logits. Returns the number of
  // tokens that were kept. With on_logits nothing is kept: every position is run.
  Result<std::int64_t> prefill_to(std::span<const std::int32_t> ids,
                                  const PrefillOptions& options = {});

  // Adds one token and returns logits().
  Result<std::span<const float>> decode(std::int32_t id);

  // Forgets all tokens from `position` on. 0 <= position <= position().
  Status truncate(std::int64_t position);
  void reset();

 private:
  // Tensors of one function, made when it is first used, and again when a flexible one changes its
  // width.
  struct Lane {
    const FunctionPlan* plan = nullptr;
    std::int64_t tokens = 0;  // T
    std::unique_ptr<StepInputs> host_inputs;
    Tensor hidden;
    exec::Inputs inputs;  // of the shard that runs now
  };

  explicit Session(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  Status make_caches();
  Status check_room(std::int64_t count) const;
  Lane& lane_for(std::int64_t remaining);
  void prepare(Lane& lane, std::int64_t tokens) const;
  Status run_chunk(std::span<const std::int32_t> ids, bool is_last, const PrefillOptions& options);
  Status run_shards(Lane& lane, std::span<const std::int32_t> ids);
  Status run_heads(const std::string& function, std::int64_t tokens, const TensorView& hidden);
  void forget_logits();
  Status last_logits(const Lane& lane, std::int64_t column);
  Status all_logits(const Lane& lane, std::int64_t count, const PrefillOptions& options);
  void gather_logits(std::int64_t tokens, std::int64_t column);
  void gather_likeliest();

  std::shared_ptr<const Model> model_;
  std::vector<std::int32_t> tokens_;
  std::vector<Lane> lanes_;
  std::vector<std::unique_ptr<exec::StateStore>> states_;  // [shard]
  std::vector<std::vector<Tensor>> caches_;  // [shard][cache]; empty tensors for states
  std::vector<exec::Outputs> shard_outputs_;
  std::vector<exec::Outputs> head_outputs_;
  TensorView hidden_out_;  // of the last shard, in shard_outputs_
  Tensor column_;          // one column of it
  std::vector<float> logits_buffer_;
  std::span<const float> logits_;
  std::optional<std::int32_t> likeliest_;
};

}  // namespace anemone::engine
