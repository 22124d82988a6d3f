// SPDX-License-Identifier: Apache-2.0
// What the planner puts in the place of several operations of a program.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/fusion/mask_cache.h"
#include "kernels/simd/kernels.h"
#include "tensor/tensor.h"

namespace anemone::exec {

// The memory of a state or a cache that an operation writes in place.
struct FusedState {
  std::byte* data = nullptr;
  std::int64_t positions = 0;  // that each head of [1, heads, positions, dim] has room for
};

// How many tokens of a run are no padding (exec/step_facts.h).
struct RealTokens {
  std::int64_t tokens = 0;  // of the run; 0: nothing is known
  std::int64_t count = 0;   // of those, the first ones, that are no padding

  // How many columns of a product with weights have to be computed.
  std::int64_t of(std::int64_t columns) const { return columns == tokens ? count : columns; }
};

// The operands of one run. Shapes are static; outputs are allocated.
struct FusedCall {
  std::vector<const TensorView*> inputs;
  std::vector<MutableTensorView> outputs;
  std::vector<FusedState> states;  // the states, then the caches
  RealTokens real = {};
  // False where nothing needs the outputs, but only what the operation stores in its states: it may
  // then leave them as they are.
  bool needs_outputs = true;
};

// How many experts a layer has and how many of them are active for a token. In a part of a layer,
// `total` are those of the layer.
struct ExpertCounts {
  std::int64_t total = 0;   // 0: the operation runs none, but may select the active ones
  std::int64_t active = 0;  // per token, of all of them; 0: the program does not tell
};

// What one run reads and computes, from sizes alone.
struct Cost {
  std::int64_t weight_bytes = 0;  // of weights that are no inputs of the operation
  std::int64_t flops = 0;         // multiplications and additions of matrix products
  std::string_view form = {};     // of the weights: "int8", "lut4"
  // What the inputs decide: the numbers are an estimate, and runs say what they read.
  bool depends_on_inputs = false;
  ExpertCounts experts = {};
};

struct FusedContext {
  ThreadPool& threads;
  const kernels::simd::Kernels& kernels;
  MaskCache& masks;
  // Weights that the operation has read; of those whose cost depends on their inputs.
  std::int64_t& bytes_read;
  bool chunks_delta_nets = false;  // CpuOptions
};

// body(call, begin, end) over [0, count(call)) of every call, in ranges of at most `grain`, on all
// threads.
template <typename Count, typename Body>
void parallel_for_calls(std::span<FusedCall> calls, ThreadPool& threads, const Count& count,
                        std::int64_t grain, const Body& body) {
  std::int64_t all = 0;
  for (const FusedCall& call : calls) all += count(call);
  // So little, as of texts that decode, takes less time than waking other threads.
  if (all <= grain) {
    for (FusedCall& call : calls)
      if (const std::int64_t some = count(call); some > 0) body(call, 0, some);
    return;
  }
  std::vector<std::int64_t> first_range = {0};  // of each call
  first_range.reserve(calls.size() + 1);
  for (const FusedCall& call : calls)
    first_range.push_back(first_range.back() + (count(call) + grain - 1) / grain);
  threads.parallel_for(first_range.back(), 1, [&](std::int64_t range, std::int64_t) {
    const auto next = std::upper_bound(first_range.begin(), first_range.end(), range);
    const auto i = static_cast<std::size_t>(next - first_range.begin()) - 1;
    const std::int64_t begin = (range - first_range[i]) * grain;
    body(calls[i], begin, std::min(begin + grain, count(calls[i])));
  });
}

// Immutable, thread-safe.
class FusedOp {
 public:
  virtual ~FusedOp() = default;
  virtual std::string_view name() const = 0;  // "projection"
  // Shape of the only output. It is asked for when the operation replaces one that is not
  // statically checked (PreparedOp::is_statically_checked), and the run may have any shapes that
  // its input's type allows.
  virtual Shape output_shape(const std::vector<const TensorView*>& inputs) const {
    static_cast<void>(inputs);
    return {};
  }
  // Cost of a run that gives `output`, with states of these shapes, as if all their positions were
  // in use. Only operations with matrix products have one.
  virtual Cost cost(const Shape& output, std::span<const Shape> states) const {
    static_cast<void>(output), static_cast<void>(states);
    return {};
  }
  // Whether the output may take the memory of input i where both have the same size and no other
  // input reads it: each element is read before it is written.
  virtual bool can_overwrite(std::size_t i) const {
    static_cast<void>(i);
    return false;
  }
  // The role of input i where that is a mask of which the operation asks MaskCache alone, unless
  // the mask is none that facts can say.
  virtual std::optional<MaskFact::Role> mask_role(std::size_t i) const {
    static_cast<void>(i);
    return std::nullopt;
  }
  // The inputs that decide what the operation stores in its states; empty: all of them may. The
  // others need not be computed for a call that needs no outputs: their elements are not read then,
  // nor the shapes, which such a register need not have.
  virtual std::vector<std::size_t> stored_inputs() const { return {}; }
  // Several runs of one function together, with operands of equal shapes: what they share, the
  // weights, is read once. Calls on the same states come in order.
  virtual Status run(std::span<FusedCall> calls, const FusedContext& context) const = 0;
};

}  // namespace anemone::exec
