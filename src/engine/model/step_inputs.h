// SPDX-License-Identifier: Apache-2.0
// The inputs that the host gives a step besides its hidden states: rope tables, embeddings, and
// what is in the masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "artifact/manifest.h"
#include "engine/model/embedding_table.h"
#include "exec/step_facts.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// One tensor that the host fills. Ports of several shards with equal fields share it.
struct HostInput {
  artifact::PortRole role = artifact::PortRole::kAttentionMask;  // never kHidden or kExperts
  const artifact::Rope* rope = nullptr;                          // kRopeCos, kRopeSin
  std::int64_t window = 0;                                       // kAttentionMask
  DType dtype = DType::kFp16;                                    // fp16 or fp32; int32 of kPosition
  std::int64_t tail = 0;                                         // kUpdateMask
  bool is_bidirectional = false;                                 // kAttentionMask
  // kAttentionMask, kCacheWriteMask: the package takes it as a fact (exec/step_facts.h).
  bool is_fact = false;
  // kEmbedding, kLayerEmbedding: columns of the table.
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
  artifact::HiddenLayout layout = artifact::HiddenLayout::kTokensInHeight;
  artifact::PastForm past = artifact::PastForm::kWhole;  // kAttentionMaskPastAndStep

  friend bool operator==(const HostInput&, const HostInput&) = default;
};

// Whether it is a mask that StepInputs has no tensor for: a fact, or one of a MaskPool.
bool is_mask(const HostInput& input);
// What an executor has to know about a mask to make it itself; `name` is that of the input.
exec::MaskFact mask_fact(const HostInput& input, std::string name);

// Shape of a host input in a function of `tokens` tokens: see artifact::PortRole.
Shape host_input_shape(const HostInput& input, std::int64_t tokens, std::int64_t context);

// The tensors of one function of one session but for masks, reused from step to step. Not
// thread-safe.
//
// Token t of a step stands at position p + t. What it attends to is that of exec::attended(). Its
// rope angle is float(p + t) * inv_freq[i],
// rounded to fp32; cos and sin are computed in double, rounded to fp32, and multiplied by the scale
// in fp32. Which frequencies these are depends on the length of the text that the step is part of.
//
// A step may have fewer real tokens than the function is wide. The columns after the last real
// token repeat it, so that nothing in them can be NaN where the real one is not, and are stored
// nowhere.
class StepInputs {
 public:
  StepInputs(std::vector<HostInput> inputs, std::int64_t tokens, std::int64_t context);

  // 1 <= count <= tokens, 0 <= position, position + count <= context. `length`: tokens of the text,
  // those of later steps included.
  void set(std::int64_t position, std::int64_t count, std::int64_t length);
  // The embeddings of the tokens of the step. `layers` may be null where no input asks for it.
  // kIo as EmbeddingTable::look_up().
  Status look_up(std::span<const std::int32_t> ids, const EmbeddingTable& tokens,
                 const EmbeddingTable* layers);
  // Tensor of inputs[index], which is no mask; valid until the next set().
  TensorView view(std::size_t index) const { return items_[index].tensor.view(); }
  std::int64_t tokens() const { return tokens_; }
  // By the last set(): where the first token stands, and how many real ones there are.
  std::int64_t position() const { return position_; }
  std::int64_t count() const { return count_; }

 private:
  struct Item {
    HostInput input;
    Tensor tensor;
  };

  void set_update_mask(Item& item, std::int64_t count) const;
  void set_rope(Item& item, std::int64_t position, std::int64_t count, std::int64_t length) const;

  std::vector<Item> items_;
  std::int64_t tokens_;
  std::int64_t context_;
  std::int64_t position_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace anemone::engine
