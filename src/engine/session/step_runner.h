// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/bucket.h"
#include "engine/session/sequence.h"
#include "engine/session/step.h"
#include "engine/session/step_observer.h"

namespace anemone::engine {

// Takes the logits [vocab_size] of a position, valid during the call. An error ends the step.
using LogitsCallback = std::function<Status(std::int64_t position, std::span<const float> logits)>;

// Takes what the final norm gave for a position, [hidden_size], valid during the call. An error
// ends the step.
using HiddenCallback = std::function<Status(std::int64_t position, std::span<const float> hidden)>;

// The next tokens of one sequence in a step, and what came of them.
struct StepItem {
  // Tokens of a step at most, in chunks of a function's width: enough for the weights to be read
  // seldom, few enough to be stopped between steps.
  static constexpr std::int64_t kMaxTokens = 512;
  // Tokens of an item with several predictions at most.
  static constexpr std::int64_t kMaxVerified = 64;

  Sequence* sequence = nullptr;
  // All tokens that are to be run, after those of the sequence; a step may run the first ones only.
  // At least one; each in the vocabulary and all in the context, which the caller has checked.
  std::span<const std::int32_t> ids;
  std::int64_t max_tokens = kMaxTokens;  // of `ids`, in this step; at least one chunk is run
  // Called for every token; null: the sequence gets its predictions after the last ones of `ids`.
  const LogitsCallback* on_logits = nullptr;
  // Called for every token; then nobody asks for a prediction, and the heads run for on_logits
  // alone. The model has to give hidden states (Model::check_gives_hidden).
  const HiddenCallback* on_hidden = nullptr;
  // How many of the last ones, 1 <= predictions <= ids.size(). More than one: all of `ids` are run,
  // at most kMaxVerified of them, to verify which of them the model would have said.
  std::int64_t predictions = 1;

  // After the step: how many of `ids` the sequence has now.
  std::int64_t done = 0;
  // kCorrupt for logits that are NaN: then the sequence is empty. After another error it is damaged
  // (Sequence::prepare), since nobody knows what a run that fails leaves in the caches.
  Status status = {};
};

// Runs tokens of sequences of one model through its packages: those of one width together, in one
// pass over the weights. A sequence gets the bits that it gets alone, where the executor promises
// that for batches. Owns the inputs and outputs of the packages, so that a sequence is no more than
// its caches. Single-thread.
class StepRunner {
 public:
  // `observer` may be null, and outlives the runner: it is told of the phases of a step and of the
  // runs of packages, and nothing of the step itself.
  explicit StepRunner(std::shared_ptr<const Model> model, StepObserver* observer = nullptr);

  const std::shared_ptr<const Model>& model() const { return model_; }
  // Runs a step of sequences that are prepared, each at most once. Every item has its own status.
  // `meanwhile` (exec::BatchItem) may be null. It may run steps of other sequences, with another
  // runner.
  void step(std::span<StepItem> items, const std::function<void()>* meanwhile = nullptr);

 private:
  // How the next chunk runs.
  struct BucketChoice {
    Bucket* bucket = nullptr;
    std::int64_t width = 0;
    std::int64_t count = 0;  // tokens of the chunk; the others of the width are padding
    bool is_same_pass(const BucketChoice& other) const {
      return bucket == other.bucket && width == other.width;
    }
  };
  // Where the chunks of an item are among those of the pass.
  struct Part {
    StepItem* item = nullptr;
    std::size_t first_chunk = 0;
    std::size_t chunks = 0;
    std::int64_t count = 0;       // tokens
    std::int64_t last_count = 0;  // tokens of the last chunk
  };

  BucketChoice choose(std::int64_t position, std::int64_t remaining);
  // For the next tokens of an item, `done` of which are in chunks already.
  BucketChoice choose(const StepItem& item, std::int64_t done);
  BucketChoice choose_verifying(const StepItem& item, std::int64_t done);
  Status add_chunks(const BucketChoice& choice, StepItem& item);
  static std::size_t chunks_read(const Part& part);
  void run_pass(const BucketChoice& choice, const std::function<void()>* meanwhile);
  // Computes the predictions that are wanted after the last tokens of items.
  Status predict_last(const Bucket& bucket);
  // The predictions of an item with several whose chunk has them all.
  Status predict_several(const Bucket& bucket, const Part& part);
  Status predict_all(const Bucket& bucket, const Part& part);
  Status give_hidden(const Bucket& bucket, const Part& part);
  void add_tokens(const Part& part);
  // One of the tokens for which a run of the heads gave something, and where it stands.
  struct Column {
    const Chunk* chunk = nullptr;
    std::int64_t tokens = 1;  // of the run
    std::int64_t index = 0;   // of the token among them
    std::int64_t position = 0;
  };
  // Takes over what the heads gave for a token.
  Status gather(const Column& column, Sequence& sequence);
  Status gather_argmax(const Column& column, Sequence& sequence);
  void gather_logits(const StepOutputs& outputs, std::int64_t tokens, std::int64_t column,
                     std::span<float> logits) const;
  const Bucket& smallest_bucket() const;

  std::shared_ptr<const Model> model_;
  StepObserver* observer_;
  std::vector<Bucket> buckets_;                        // in the order of Model::functions()
  std::vector<Part> parts_;                            // of the pass
  std::vector<Chunk> chunks_;                          // of the pass
  std::vector<std::unique_ptr<StepOutputs>> outputs_;  // of each chunk of a pass
  std::vector<Tensor> columns_;                        // last hidden states, one column each
  std::vector<float> row_;                             // for on_logits and on_hidden
};

}  // namespace anemone::engine
