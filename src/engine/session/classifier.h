// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/bucket.h"
#include "engine/session/step.h"

namespace anemone::engine {

struct ClassifyOptions {
  // Called after every window.
  std::function<void(std::int64_t done, std::int64_t total)> on_progress;
  // Polled between windows; when it is set, the call ends with kCancelled. May be null.
  const std::atomic<bool>* cancel = nullptr;
};

// Runs a model that labels tokens (Manifest::classifies). Single-thread; several of one model may
// run in parallel.
//
// A text that no function takes as a whole is read in windows that overlap: a token attends,
// through all layers, to (window - 1) * layers tokens to each side, and no label is taken from
// nearer to an inner edge. The logits are those of the whole text but for the rounding of other
// rope angles.
class Classifier {
 public:
  // Makes a classifier. kUnsupported for a model that generates.
  static Result<std::unique_ptr<Classifier>> create(std::shared_ptr<const Model> model);

  // Logits [tokens, labels] of a text. kInvalidArgument for none, or ids outside the vocabulary;
  // kUnsupported for a text that is longer than the widest function where windows cannot stand for
  // it: a layer attends to everything, or the functions are too narrow.
  Result<std::vector<float>> classify(std::span<const std::int32_t> ids,
                                      const ClassifyOptions& options = {});

 private:
  explicit Classifier(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  Bucket& bucket_for(std::int64_t tokens);  // the narrowest that takes them, else the widest
  // Logits of tokens [first, last) of the window `ids`.
  Status run_window(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t last,
                    std::vector<float>& logits);

  std::shared_ptr<const Model> model_;
  std::vector<Bucket> buckets_;  // by their width
  KvCache caches_;               // none: the shards have no states
  StepOutputs outputs_;
};

}  // namespace anemone::engine
