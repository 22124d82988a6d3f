// SPDX-License-Identifier: Apache-2.0
// One step of a model: chunks of tokens, of one session or of several, go through the packages
// together, so that an executor can read the weights once for all of them.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/model/step_inputs.h"
#include "engine/session/kv_cache.h"
#include "engine/session/step_observer.h"

namespace anemone::engine {

// What the packages gave for one chunk; storage is used again by the next step.
struct StepOutputs {
  std::vector<exec::Outputs> shards;
  std::vector<exec::Outputs> heads;  // [package of heads]; none where a shard has them
  exec::Outputs embed;
  Tensor experts;
};

// Empty ones for every package of the model.
StepOutputs make_outputs(const Model& model);

// Consecutive tokens of one session. The pointers outlive the step.
struct Chunk {
  const StepInputs* host_inputs = nullptr;
  KvCache* caches = nullptr;
  StepOutputs* outputs = nullptr;
  // [1, hidden_size, tokens, 1] in the layout of the artifact: the embeddings before run_shards(),
  // what the last shard made of them after it.
  TensorView hidden = {};
  TensorView experts = {};  // the sum of the experts of the shard before, the same for one layer
  // Whether anybody reads what the last shard makes of them. Otherwise its packages need only store
  // them in the caches, and `hidden` is empty after run_shards().
  bool is_read = true;
};

// The output of a package, whose shape the description may have left open.
Result<TensorView> checked_output(const exec::Outputs& outputs, std::string_view package,
                                  std::string_view name, const Shape& shape);

// Runs all shards on the chunks of a step. The chunks have the same width, that of their tensors.
// Those of one session are in the order of their tokens; its caches have them afterwards. After an
// error the caches of the chunks may or may not hold their tokens.
// `meanwhile` is that of exec::BatchItem. The observers here may be null: they are told of the
// runs.
Status run_shards(const Model& model, const FunctionPlan& plan, std::span<Chunk> chunks,
                  const std::function<void()>* meanwhile = nullptr,
                  StepObserver* observer = nullptr);

// Runs all heads over `tokens` columns of each chunk's `hidden`. Heads inside the package of the
// last layers (Manifest::has_head_inside()) have run with it, over all columns of the chunk.
Status run_heads(const Model& model, const std::string& function, std::int64_t tokens,
                 std::span<const Chunk> chunks, StepObserver* observer = nullptr);

// The outputs of the package that has this head of the model, after run_heads().
const exec::Outputs& head_outputs(const Model& model, const artifact::Head& head,
                                  const StepOutputs& outputs);

// Runs the package of Manifest::embed over `tokens` columns of each chunk's `hidden`.
Status run_embed(const Model& model, const std::string& function, std::int64_t tokens,
                 std::span<const Chunk> chunks);

}  // namespace anemone::engine
