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

#include "engine/model/model.h"
#include "engine/session/bucket.h"
#include "engine/session/step.h"

namespace anemone::engine {

struct PrefillOptions {
  // Called for every prompt position in order with its logits [vocab_size], valid during the call.
  // When unset the head runs for the last position only. An error ends the prefill.
  std::function<Status(std::int64_t position, std::span<const float> logits)> on_logits;
  // Called after every step.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Polled between steps; when it is set, the call ends with kCancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

struct DecodeStep;

// One conversation: the tokens so far and the caches that hold them. The caches are a function of
// the tokens alone: a session that was continued, or truncated and continued, gives the same logits
// as a new one, to the bit, since the executor's results do not depend on the width of a step.
// Single-thread; several sessions of one model may run in parallel.
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
  std::optional<std::int32_t> argmax() const { return argmax_; }

  // Adds tokens after those that are there, in chunks of the widest function, several chunks per
  // step. kInvalidArgument for no tokens, an id outside the vocabulary or too many tokens for the
  // context, kUnsupported for on_logits of a greedy model: then nothing has changed. kCorrupt for
  // logits that are NaN: then the session is empty. After any other error the steps that were
  // finished stay: see position(). A text that grows beyond the short length of a rope is read
  // again from its first token on, as transformers' generate() does.
  Status prefill(std::span<const std::int32_t> ids, const PrefillOptions& options = {});

  // Makes the session hold exactly `ids`: keeps what it has in common with them, drops the rest and
  // adds what is missing. The last token is always run, for its logits. Returns the number of
  // tokens that were kept. With on_logits nothing is kept: every position is run.
  Result<std::int64_t> prefill_to(std::span<const std::int32_t> ids,
                                  const PrefillOptions& options = {});

  // Adds one token and returns logits().
  Result<std::span<const float>> decode(std::int32_t id);

  // Forgets all tokens from `position` on. 0 <= position <= position(). A session with recurrent
  // states runs the tokens that stay again, before it takes the next ones.
  Status truncate(std::int64_t position);
  void reset();

 private:
  friend Status decode_batch(std::span<const DecodeStep> steps);

  // How the next chunk runs.
  struct BucketChoice {
    Bucket* bucket = nullptr;
    std::int64_t width = 0;
    std::int64_t count = 0;  // tokens of the chunk; the others of the width are padding
    friend bool operator==(const BucketChoice&, const BucketChoice&) = default;
  };

  explicit Session(std::shared_ptr<const Model> model);
  Status check_room(std::int64_t count) const;
  // Prepares the caches for a text of `length` tokens: runs all tokens again when the keys in the
  // caches are rotated for another length, or when the caches stand for other tokens. After an
  // error those that were run stay.
  Status rebuild(std::int64_t length, const PrefillOptions& options);
  // Adds `ids` step by step, with logits of the last one or without any.
  Status run_steps(std::span<const std::int32_t> ids, const PrefillOptions& options,
                   bool wants_logits);
  BucketChoice choose(std::int64_t position, std::int64_t remaining);
  Bucket& enter(const BucketChoice& choice);
  // Makes chunk `index` of a step of `ids`, which stand at `position`.
  Result<Chunk> make_chunk(Bucket& bucket, std::size_t index, std::span<const std::int32_t> ids,
                           std::int64_t position);
  // Adds the first of `ids`, as many as go into one step. Returns their number.
  Result<std::int64_t> run_step(std::span<const std::int32_t> ids, const PrefillOptions& options,
                                bool wants_logits);
  const Bucket& smallest_bucket() const;
  void forget_logits();
  void clear_caches();
  // Computes the logits of the token at `position`, which is the given column of the chunk.
  Status last_logits(const Bucket& bucket, Chunk chunk, std::int64_t column, std::int64_t position);
  Status all_logits(const Bucket& bucket, std::span<const Chunk> chunks, std::int64_t count,
                    const PrefillOptions& options);
  // The tokens are in the caches now.
  void add_tokens(std::span<const std::int32_t> ids, bool has_logits);
  // Takes over what the heads gave for the one token of a chunk, which stands at `position`.
  // kCorrupt when that is not a number; then the session is empty, since the caches may hold NaN,
  // too.
  Status gather(const Chunk& chunk, std::int64_t position);
  void gather_logits(const StepOutputs& outputs, std::int64_t tokens, std::int64_t column);
  Status gather_argmax(const Chunk& chunk, std::int64_t position);
  // Checks that logits_buffer_ has no NaN.
  Status check_gathered(std::int64_t position);

  std::shared_ptr<const Model> model_;
  std::vector<std::int32_t> tokens_;
  std::int64_t length_ = 0;      // of the text that the keys in the caches are rotated for
  bool has_recurrent_ = false;   // caches that cannot be truncated
  bool needs_rebuild_ = false;   // the caches stand for other tokens than tokens_
  std::vector<Bucket> buckets_;  // in the order of Model::functions()
  Caches caches_;
  bool has_states_only_ = true;                        // no caches that are inputs and outputs
  std::vector<std::unique_ptr<StepOutputs>> outputs_;  // of each chunk of a step
  Tensor column_;                                      // one column of the last hidden states
  std::vector<float> logits_buffer_;
  std::span<const float> logits_;
  std::optional<std::int32_t> argmax_;
};

struct DecodeStep {
  Session* session = nullptr;
  std::int32_t id = 0;
};

// Does what Session::decode() does for several sessions of one model in one pass over its weights,
// with the same bits where the executor promises them. The errors are those of decode(), and
// kInvalidArgument for a session that comes twice or is of another model: then nothing has changed.
// After any other error no session has its token, and each is as after an error of prefill().
Status decode_batch(std::span<const DecodeStep> steps);

}  // namespace anemone::engine
