// SPDX-License-Identifier: Apache-2.0
#include "engine/model/step_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "engine/model/element_writer.h"

namespace anemone::engine {

using artifact::PortRole;

namespace {

// The role of a mask fact, for the role of an input for which is_mask() holds.
exec::MaskFact::Role fact_role(PortRole role) {
  switch (role) {
    case PortRole::kCacheWriteMask:
      return exec::MaskFact::Role::kWrite;
    case PortRole::kAttentionMaskPastAndStep:
      return exec::MaskFact::Role::kAttentionPastAndStep;
    default:
      ANEMONE_CHECK(role == PortRole::kAttentionMask);
      return exec::MaskFact::Role::kAttention;
  }
}

}  // namespace

bool is_mask(const HostInput& input) {
  return input.role == PortRole::kAttentionMask ||
         input.role == PortRole::kAttentionMaskPastAndStep ||
         input.role == PortRole::kCacheWriteMask;
}

exec::MaskFact mask_fact(const HostInput& input, std::string name) {
  return {.input = std::move(name),
          .role = fact_role(input.role),
          .window = input.window,
          .is_bidirectional = input.is_bidirectional};
}

Shape host_input_shape(const HostInput& input, std::int64_t tokens, std::int64_t context) {
  switch (input.role) {
    case PortRole::kRopeCos:
    case PortRole::kRopeSin:
      return {1, 1, tokens, static_cast<std::int64_t>(input.rope->inv_freq.size())};
    case PortRole::kAttentionMask:
      return {1, 1, tokens, context};
    case PortRole::kAttentionMaskPastAndStep:
      return {1, 1, tokens, artifact::past_positions(input.past, context, input.window) + tokens};
    case PortRole::kCacheWriteMask:
      return {1, 1, context, tokens};
    case PortRole::kUpdateMask:
      return {1, 1, input.tail + tokens, input.tail};
    case PortRole::kEmbedding:
    case PortRole::kLayerEmbedding:
      return artifact::hidden_shape(input.layout, input.columns, tokens);
    case PortRole::kPosition:
      return {1};
    case PortRole::kHidden:
    case PortRole::kExperts:
      break;  // outputs of packages, and never inputs that the host computes
  }
  ANEMONE_CHECK(false);
  return {};
}

StepInputs::StepInputs(std::vector<HostInput> inputs, std::int64_t tokens, std::int64_t context)
    : tokens_(tokens), context_(context) {
  for (HostInput& input : inputs) {
    Item& item = items_.emplace_back();
    item.input = std::move(input);
    if (!is_mask(item.input))
      item.tensor = Tensor(item.input.dtype, host_input_shape(item.input, tokens, context));
  }
}

void StepInputs::set(std::int64_t position, std::int64_t count, std::int64_t length) {
  ANEMONE_CHECK(count >= 1 && count <= tokens_ && position >= 0 && position + count <= context_);
  for (Item& item : items_) {
    switch (item.input.role) {
      case PortRole::kRopeCos:
      case PortRole::kRopeSin:
        set_rope(item, position, count, length);
        break;
      case PortRole::kUpdateMask:
        set_update_mask(item, count);
        break;
      case PortRole::kPosition:
        item.tensor.mutable_view().as<std::int32_t>()[0] = static_cast<std::int32_t>(position);
        break;
      case PortRole::kAttentionMask:
      case PortRole::kAttentionMaskPastAndStep:
      case PortRole::kCacheWriteMask:
      case PortRole::kEmbedding:
      case PortRole::kLayerEmbedding:
        break;  // masks have no tensor here (is_mask()), and look_up() sets embeddings
      case PortRole::kHidden:
      case PortRole::kExperts:
        ANEMONE_CHECK(false);
    }
  }
  position_ = position;
  count_ = count;
}

Status StepInputs::look_up(std::span<const std::int32_t> ids, const EmbeddingTable& tokens,
                           const EmbeddingTable* layers) {
  for (Item& item : items_) {
    const bool is_layers = item.input.role == PortRole::kLayerEmbedding;
    if (!is_layers && item.input.role != PortRole::kEmbedding) continue;
    const EmbeddingTable* table = is_layers ? layers : &tokens;
    ANEMONE_CHECK(table != nullptr);
    ANEMONE_RETURN_IF_ERROR(
        table->look_up(ids, item.input.first_column, item.tensor.mutable_view()));
  }
  return {};
}

// Ones at [count + j, j] pick the last `tail` columns before and in the step. Those of the step
// before, which had count_ tokens, are cleared; all else is zero from the beginning.
void StepInputs::set_update_mask(Item& item, std::int64_t count) const {
  const ElementWriter writer(item.tensor);
  const std::int64_t tail = item.input.tail;
  for (std::int64_t j = 0; j < tail; ++j) {
    if (count_ != 0) writer.set((count_ + j) * tail + j, 0);
    writer.set((count + j) * tail + j, 1);
  }
}

void StepInputs::set_rope(Item& item, std::int64_t position, std::int64_t count,
                          std::int64_t length) const {
  const ElementWriter writer(item.tensor);
  const artifact::Rope& rope = *item.input.rope;
  std::int64_t index = 0;
  for (std::int64_t t = 0; t < tokens_; ++t) {
    // Padding repeats the last real token.
    const auto at = static_cast<float>(position + std::min(t, count - 1));
    for (const float frequency : rope.frequencies(length)) {
      // The angle is rounded to fp32, as in the reference; its cosine is then computed in double.
      const auto angle = static_cast<double>(at * frequency);
      const double wave = item.input.role == PortRole::kRopeCos ? std::cos(angle) : std::sin(angle);
      writer.set(index++, static_cast<float>(wave) * rope.scale);
    }
  }
}

}  // namespace anemone::engine
