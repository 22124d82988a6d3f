// SPDX-License-Identifier: Apache-2.0
#include "engine/model/step_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace anemone::engine {
namespace {

using artifact::PortRole;

// Writes elements of an fp16 or fp32 tensor.
class ElementWriter {
 public:
  explicit ElementWriter(Tensor& tensor) : view_(tensor.mutable_view()) {
    if (view_.dtype == DType::kFp16)
      halves_ = view_.as<Half>();
    else
      floats_ = view_.as<float>();
  }
  void set(std::int64_t index, float value) const { fill(index, index + 1, value); }
  void fill(std::int64_t begin, std::int64_t end, float value) const {
    const auto offset = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0));
    if (count == 0) return;
    if (!halves_.empty())
      std::ranges::fill(halves_.subspan(offset, count), to_half(value));
    else
      std::ranges::fill(floats_.subspan(offset, count), value);
  }

 private:
  MutableTensorView view_;
  std::span<Half> halves_;
  std::span<float> floats_;
};

}  // namespace

Shape host_input_shape(const HostInput& input, std::int64_t tokens, std::int64_t context) {
  switch (input.role) {
    case PortRole::kRopeCos:
    case PortRole::kRopeSin:
      return {1, 1, tokens, static_cast<std::int64_t>(input.rope->inv_freq.size())};
    case PortRole::kAttentionMask:
      return {1, 1, tokens, context};
    case PortRole::kCacheWriteMask:
      return {1, 1, context, tokens};
    case PortRole::kUpdateMask:
      return {1, 1, input.tail + tokens, input.tail};
    case PortRole::kEmbedding:
    case PortRole::kLayerEmbedding:
      return artifact::hidden_shape(input.layout, input.columns, tokens);
    case PortRole::kHidden:
    case PortRole::kExperts:
      break;
  }
  ANEMONE_CHECK(false);
  return {};
}

StepInputs::StepInputs(std::vector<HostInput> inputs, std::int64_t tokens, std::int64_t context)
    : tokens_(tokens), context_(context) {
  for (HostInput& input : inputs) {
    Item item;
    item.tensor = Tensor(input.dtype, host_input_shape(input, tokens, context));
    if (input.role == PortRole::kAttentionMask) {
      item.open.resize(static_cast<std::size_t>(tokens));
      ElementWriter(item.tensor).fill(0, tokens * context, artifact::kMaskedScore);
    }
    item.input = input;
    items_.push_back(std::move(item));
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
      case PortRole::kAttentionMask:
        set_attention_mask(item, position, count);
        break;
      case PortRole::kCacheWriteMask:
        set_write_mask(item, position, count);
        break;
      case PortRole::kUpdateMask:
        set_update_mask(item, count);
        break;
      case PortRole::kEmbedding:
      case PortRole::kLayerEmbedding:
        break;  // see look_up()
      case PortRole::kHidden:
      case PortRole::kExperts:
        ANEMONE_CHECK(false);
    }
  }
  written_begin_ = position;
  written_count_ = count;
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

void StepInputs::set_attention_mask(Item& item, std::int64_t position, std::int64_t count) const {
  const ElementWriter writer(item.tensor);
  for (std::int64_t t = 0; t < tokens_; ++t) {
    const std::int64_t next = position + std::min(t, count - 1) + 1;
    const std::int64_t window = item.input.window;
    const std::int64_t begin = window == 0 ? 0 : std::max<std::int64_t>(next - window, 0);
    const std::int64_t last = position + count;
    const std::int64_t end = !item.input.is_bidirectional ? next
                             : window == 0                ? last
                                                          : std::min(last, next + window - 1);
    Range& open = item.open[static_cast<std::size_t>(t)];
    const std::int64_t row = t * context_;
    // Close the part of the old range outside the new one, then open the part of the new one
    // outside the old one: a decode step touches one or two elements.
    writer.fill(row + open.begin, row + std::min(open.end, begin), artifact::kMaskedScore);
    writer.fill(row + std::max(open.begin, end), row + open.end, artifact::kMaskedScore);
    writer.fill(row + begin, row + std::min(end, open.begin), 0);
    writer.fill(row + std::max(begin, open.end), row + end, 0);
    open = {begin, end};
  }
}

void StepInputs::set_write_mask(Item& item, std::int64_t position, std::int64_t count) const {
  const ElementWriter writer(item.tensor);
  for (std::int64_t t = 0; t < written_count_; ++t)
    writer.set((written_begin_ + t) * tokens_ + t, 0);
  for (std::int64_t t = 0; t < count; ++t) writer.set((position + t) * tokens_ + t, 1);
}

void StepInputs::set_update_mask(Item& item, std::int64_t count) const {
  const ElementWriter writer(item.tensor);
  const std::int64_t tail = item.input.tail;
  for (std::int64_t j = 0; j < tail; ++j) {
    if (written_count_ != 0) writer.set((written_count_ + j) * tail + j, 0);
    writer.set((count + j) * tail + j, 1);
  }
}

void StepInputs::set_rope(Item& item, std::int64_t position, std::int64_t count,
                          std::int64_t length) const {
  const ElementWriter writer(item.tensor);
  const artifact::Rope& rope = *item.input.rope;
  std::int64_t index = 0;
  for (std::int64_t t = 0; t < tokens_; ++t) {
    const auto at = static_cast<float>(position + std::min(t, count - 1));
    for (const float frequency : rope.frequencies(length)) {
      const auto angle = static_cast<double>(at * frequency);
      const double wave = item.input.role == PortRole::kRopeCos ? std::cos(angle) : std::sin(angle);
      writer.set(index++, static_cast<float>(wave) * rope.scale);
    }
  }
}

}  // namespace anemone::engine
