// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/session/kv_cache.h"
#include "engine/session/logit_row.h"

namespace anemone::engine {

// What a model says after the last token that ran: a row of logits [vocab_size], or the most likely
// token (the first of equals) of a model compiled with --argmax. Null and absent where nothing was
// asked for. Valid until the sequence runs again.
struct Prediction {
  const LogitRow* row = nullptr;
  std::optional<std::int32_t> argmax;
};

// Tokens, the caches that hold them and what the model says after them. It runs nothing: see
// StepRunner. The caches are a function of the tokens alone, so a sequence that was
// truncated and continued gives the logits that a new one gives. Single-thread.
class Sequence {
 public:
  // kUnsupported for a model that labels tokens, kOutOfMemory when the caches do not fit.
  static Result<std::unique_ptr<Sequence>> create(std::shared_ptr<const Model> model);

  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }
  // The tokens that the caches hold.
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  std::int64_t position() const { return static_cast<std::int64_t>(tokens_.size()); }
  Prediction prediction() const;
  // The prediction after the token at `position`, one of the last for which the last step gave
  // predictions (StepItem::predictions).
  Prediction prediction_at(std::int64_t position) const;
  // Frees its memory.
  void drop_prediction();

  // Whether the caches stand for other tokens: a step failed, and prepare() will drop them.
  bool is_damaged() const { return is_damaged_; }
  // Whether the caches can be truncated at any position: no layer keeps a recurrent state.
  bool can_be_truncated() const { return !caches_.is_recurrent(); }

  // How many of the first tokens of `ids` a step need not run: what the caches have in common with
  // them, at most all but the last one, whose logits are wanted. Caches that cannot be truncated
  // serve up to a snapshot: up to all tokens, where it has the prediction after them. 0 where they
  // hold keys that are rotated for texts of another length.
  std::int64_t reusable(std::span<const std::int32_t> ids) const;
  // Whether the keys in the caches of both are rotated for texts of the same length.
  bool has_ropes_of(const Sequence& other) const {
    return model_->manifest().has_same_ropes(length_, other.length_);
  }
  // Makes the caches fit a text of `length` tokens in all. Whoever runs the text goes on at
  // position(), which is 0 when all has to be run again: after an error, and when the text grows
  // beyond the short length of a rope, as transformers' generate() does.
  void prepare(std::int64_t length);
  // Forgets all tokens from `position` on, 0 <= position <= position(). Where the caches cannot be
  // truncated it goes back to the last snapshot before that, or to no tokens at all. The prediction
  // is that of the snapshot.
  void truncate(std::int64_t position);
  // Keeps the recurrent states and the prediction as they are now, so that the sequence can be
  // truncated here later; nothing where it can be truncated anywhere. The last few snapshots are
  // kept.
  Status take_snapshot();
  // Becomes a copy of the first `count` tokens of another sequence of the model, with the
  // prediction of its snapshot there; count is at most other.reusable() of the text.
  Status copy_prefix(Sequence& other, std::int64_t count);
  void clear();

  // Memory of the caches, and what those of so many tokens would take, in bytes.
  std::uint64_t bytes() const;
  static std::uint64_t cache_bytes(const Model& model, std::int64_t tokens);

 private:
  friend class StepRunner;
  explicit Sequence(std::shared_ptr<const Model> model);
  struct Snapshot {
    KvCache::Snapshot states;
    std::vector<float> logits;
    std::optional<std::int32_t> argmax;

    std::int64_t length() const { return states.length; }
    bool has_prediction() const { return !logits.empty() || argmax.has_value(); }
  };
  void clear_logits();
  // One more prediction, whose logits `fill` writes to a std::span<float>.
  template <typename Fill>
  const LogitRow& add_logits(const Fill& fill) {
    if (logit_rows_ == rows_.size()) rows_.emplace_back();
    Row& row = rows_[logit_rows_++];
    row.logits.resize(static_cast<std::size_t>(model_->vocab_size()));
    fill(std::span(row.logits));
    row.view.set(row.logits);
    return row.view;
  }
  // The last snapshot of at most so many tokens; nullptr without one.
  const Snapshot* snapshot_within(std::int64_t tokens) const;
  // The prediction `back` tokens before the last one.
  Prediction prediction_back(std::int64_t back) const;
  // Takes the prediction after the tokens that are there from a snapshot of them, which may be null
  // or one of fewer tokens.
  void predict_as(const Snapshot* snapshot);

  std::shared_ptr<const Model> model_;
  std::vector<std::int32_t> tokens_;
  std::int64_t length_ = 0;  // of the text that the keys in the caches are rotated for
  bool is_damaged_ = false;  // the caches stand for other tokens than tokens_
  KvCache caches_;
  std::vector<Snapshot> snapshots_;  // by their length
  struct Row {
    std::vector<float> logits;  // [vocab_size]
    LogitRow view;              // what is known of them
  };
  // Predictions after the last tokens: the first logit_rows_ rows, the others being kept for their
  // memory; or most likely tokens.
  std::vector<Row> rows_;
  std::size_t logit_rows_ = 0;
  std::vector<std::int32_t> argmaxes_;
};

// The number of tokens that two texts begin with in common.
std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace anemone::engine
