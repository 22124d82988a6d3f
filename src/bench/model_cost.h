// SPDX-License-Identifier: Apache-2.0
// What a token costs: the bytes that must come from memory and the multiplications, from the plans
// of a model. Against what the machine can do they give the speed that no engine can pass.
#pragma once

#include <anemone/status.h>

#include <cstdint>

#include "bench/machine_rates.h"
#include "engine/model/model.h"

namespace anemone::bench {

// Multiplications and additions, by what the machine multiplies the operands with.
struct Flops {
  double int8 = 0;   // with weights of 8-bit integers
  double other = 0;  // with any other, and attention

  Flops& operator+=(const Flops& more);
  friend Flops operator*(Flops flops, double count) {
    return {flops.int8 * count, flops.other * count};
  }
};

struct ModelCost {
  std::int64_t weight_bytes = 0;  // that one step reads, the heads' among them
  std::int64_t head_bytes = 0;    // of them, those of packages with nothing but heads
  double kv_bytes = 0;            // of caches, a token of the context
  // What one token costs in layers, and in heads that are inside the package of the last layers.
  Flops layers;
  Flops heads;
  double attention_flops = 0;  // of one token, a token of the context

  // What one step of `streams` sessions reads, each with `depth` tokens already.
  double step_bytes(std::int64_t streams, double depth) const;
  // What reading a prompt of so many tokens reads at least.
  double prefill_bytes(std::int64_t tokens, double depth) const;
  // Tokens per second of all streams together, when each step adds one token per stream.
  double decode_limit(const MachineRates& rates, std::int64_t streams, double depth) const;
  // Tokens per second of a prompt; the heads run for its last token.
  double prefill_limit(const MachineRates& rates, std::int64_t tokens, double depth) const;
};

// kInvalidArgument for a model of an executor that does not explain its plans.
Result<ModelCost> cost_of(const engine::Model& model);

// The function that decodes: of the fewest tokens, over the smallest context.
const engine::FunctionPlan& decode_plan(const engine::Model& model);
// The function that reads prompts: of the most tokens, over the largest context.
const engine::FunctionPlan& prefill_plan(const engine::Model& model);

}  // namespace anemone::bench
