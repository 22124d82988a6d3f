// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/model/model.h"
#include "engine/model/step_inputs.h"
#include "engine/session/step.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// A shape bucket: one function of a model, with the input tensors of the chunks of one step. The
// tensors are made when a chunk first needs them. Single-thread; the model outlives it.
class Bucket {
 public:
  Bucket(const Model& model, const FunctionPlan& plan) : model_(&model), plan_(&plan) {}

  const FunctionPlan& plan() const { return *plan_; }
  // Tokens that the function takes: at most so many where it is flexible.
  std::int64_t max_width() const { return plan_->function->tokens; }
  bool is_flexible() const { return plan_->function->is_flexible; }

  // Tokens of the next chunks, 1 <= width <= max_width(), below it for a flexible function only.
  void set_width(std::int64_t width);
  std::int64_t width() const { return width_; }

  // Fills the inputs of chunk `index` of a step: `ids` stand at `position` of a text of `length`
  // tokens. Chunks are filled in order; 1 <= ids.size() <= width(), each id checked before. The
  // chunk is valid until the same index is filled again or the width changes. The caches get room
  // for them. kIo when a file of embeddings was cut; kOutOfMemory.
  Result<Chunk> fill(std::size_t index, std::span<const std::int32_t> ids, std::int64_t position,
                     std::int64_t length, KvCache& caches, StepOutputs& outputs);

 private:
  struct ChunkInputs {
    std::unique_ptr<StepInputs> host_inputs;
    Tensor hidden;
  };

  const Model* model_;
  const FunctionPlan* plan_;
  std::int64_t width_ = 0;
  std::vector<ChunkInputs> chunks_;
};

}  // namespace anemone::engine
