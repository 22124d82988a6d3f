// SPDX-License-Identifier: Apache-2.0
// The inputs that the host gives a step besides its hidden states: attention masks, cache write
// masks, rope tables, embeddings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "artifact/manifest.h"
#include "engine/model/embedding_table.h"
#include "tensor/tensor.h"

namespace anemone::engine {

// One tensor that the host fills. Ports of several shards with equal fields share it.
struct HostInput {
  artifact::PortRole role = artifact::PortRole::kAttentionMask;  // never kHidden or kExperts
  const artifact::Rope* rope = nullptr;                          // kRopeCos, kRopeSin
  std::int64_t window = 0;                                       // kAttentionMask
  DType dtype = DType::kFp16;                                    // fp16 or fp32
  std::int64_t tail = 0;                                         // kUpdateMask
  bool is_bidirectional = false;                                 // kAttentionMask
  // kEmbedding, kLayerEmbedding: columns of the table.
  std::int64_t first_column = 0;
  std::int64_t columns = 0;
  artifact::HiddenLayout layout = artifact::HiddenLayout::kTokensInHeight;

  friend bool operator==(const HostInput&, const HostInput&) = default;
};

// Shape of a host input in a function of `tokens` tokens: see artifact::PortRole.
Shape host_input_shape(const HostInput& input, std::int64_t tokens, std::int64_t context);

// The tensors of one function of one session, reused from step to step. Only what changed since the
// step before is written again. Not thread-safe.
//
// Token t of a step stands at position p + t. It attends to position s when s <= p + t and, with a
// window, s > p + t - window; or, where attention is bidirectional, to every real token s of the
// step, with a window when |p + t - s| < window. Its rope angle is float(p + t) * inv_freq[i],
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
  // Tensor of inputs[index], valid until the next set().
  TensorView view(std::size_t index) const { return items_[index].tensor.view(); }
  std::int64_t tokens() const { return tokens_; }
  std::int64_t count() const { return written_count_; }  // of real tokens, by the last set()

 private:
  // Positions [begin, end).
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  struct Item {
    HostInput input;
    Tensor tensor;
    std::vector<Range> open;  // kAttentionMask: what each row shows now
  };

  void set_attention_mask(Item& item, std::int64_t position, std::int64_t count) const;
  void set_write_mask(Item& item, std::int64_t position, std::int64_t count) const;
  void set_update_mask(Item& item, std::int64_t count) const;
  void set_rope(Item& item, std::int64_t position, std::int64_t count, std::int64_t length) const;

  std::vector<Item> items_;
  std::int64_t tokens_;
  std::int64_t context_;
  std::int64_t written_begin_ = 0;  // positions that the write masks mark now
  std::int64_t written_count_ = 0;
};

}  // namespace anemone::engine
