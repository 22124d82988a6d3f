// SPDX-License-Identifier: Apache-2.0
// Masks as tensors, for packages that take no facts: they are as large as the context, so a model
// has as many as are in use at one time, not as many as it has sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/model/step_inputs.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// An attention mask [1, 1, T, S] or [1, 1, T, P + T], or a write mask [1, 1, S, T]. Only what
// changed since the step before is written again. Single-thread.
class DenseMask {
 public:
  // is_mask(input).
  DenseMask(const HostInput& input, std::int64_t tokens, std::int64_t context);

  // 1 <= count <= tokens, 0 <= position, position + count <= context.
  void set(std::int64_t position, std::int64_t count);
  // Valid until the next set().
  TensorView view() const { return tensor_.view(); }
  bool is_for(const HostInput& input, std::int64_t tokens, std::int64_t context) const {
    return input_ == input && tokens_ == tokens && context_ == context;
  }
  std::int64_t tokens() const { return tokens_; }
  // Whether the other one is of the same input, for a larger context.
  bool is_outgrown_by(const DenseMask& other) const {
    return input_ == other.input_ && context_ < other.context_;
  }

 private:
  // What a row shows: a run of columns, and for a mask of past and step a second one, of the step.
  struct Shown {
    exec::PositionRange columns;
    exec::PositionRange of_step;
  };

  void set_attention(std::int64_t position, std::int64_t count);
  void show(std::int64_t row, exec::PositionRange& shown, const exec::PositionRange& wanted);
  void set_write(std::int64_t position, std::int64_t count);

  const HostInput input_;
  const std::int64_t tokens_;
  const std::int64_t context_;
  Tensor tensor_;
  const std::int64_t columns_;      // of a row
  std::vector<Shown> shown_;        // of an attention mask: by each row now
  std::int64_t written_begin_ = 0;  // of a write mask: the positions that it marks now
  std::int64_t written_count_ = 0;
};

// The masks of one function of a model that no step uses now. Thread-safe.
class MaskPool {
 public:
  // One that was given back, or a new one, with what it was last set to.
  std::unique_ptr<DenseMask> take(const HostInput& input, std::int64_t tokens,
                                  std::int64_t context);
  // It is kept for the next step. Those for another number of tokens are not, nor are those of the
  // same input for a smaller context: caches that grow have left it behind.
  void give(std::unique_ptr<DenseMask> mask);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<DenseMask>> idle_;
};

}  // namespace anemone::engine
