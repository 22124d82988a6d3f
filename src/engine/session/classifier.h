// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/bucket.h"
#include "engine/session/step.h"

namespace anemone::engine {

// A text that gets labels, window by window.
struct Labelling {
  std::vector<std::int32_t> ids;
  std::int64_t halo = 0;      // tokens next to an inner edge of a window that get no label there
  std::int64_t done = 0;      // tokens with logits
  std::vector<float> logits;  // [done, labels]
  bool is_done() const { return done == static_cast<std::int64_t>(ids.size()); }
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

  // Begins a text. kInvalidArgument for no tokens, or ids outside the vocabulary; kUnsupported for
  // a text that is longer than the widest function where windows cannot stand for it: a layer
  // attends to everything, or the functions are too narrow.
  Result<Labelling> start(std::vector<std::int32_t> ids) const;
  // Adds the logits of the next window. kCorrupt for logits that are NaN.
  Status run_window(Labelling& text);

 private:
  explicit Classifier(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  Bucket& bucket_for(std::int64_t tokens);  // the narrowest that takes them, else the widest
  // Adds the logits of tokens [first, last) of the window `ids`.
  Status run(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t last,
             std::vector<float>& logits);

  std::shared_ptr<const Model> model_;
  std::vector<Bucket> buckets_;  // by their width
  KvCache caches_;               // none: the shards have no states
  StepOutputs outputs_;
};

}  // namespace anemone::engine
