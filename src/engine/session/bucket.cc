// SPDX-License-Identifier: Apache-2.0
#include "engine/session/bucket.h"

#include <utility>

namespace anemone::engine {

void Bucket::set_width(std::int64_t width) {
  if (width_ != width) chunks_.clear();
  width_ = width;
}

Result<Chunk> Bucket::fill(std::size_t index, std::span<const std::int32_t> ids,
                           std::int64_t position, std::int64_t length, KvCache& caches,
                           StepOutputs& outputs) {
  if (index == chunks_.size()) {
    const artifact::Manifest& manifest = model_->manifest();
    ChunkInputs made;
    made.host_inputs = std::make_unique<StepInputs>(plan_->host_inputs, width_, plan_->context);
    made.hidden = Tensor(plan_->hidden_dtype, artifact::hidden_shape(manifest.form.layout,
                                                                     manifest.hidden_size, width_));
    chunks_.push_back(std::move(made));
  }
  ANEMONE_RETURN_IF_ERROR(caches.reserve(position + static_cast<std::int64_t>(ids.size())));
  ChunkInputs& inputs = chunks_[index];
  ANEMONE_RETURN_IF_ERROR(model_->embed(ids, inputs.hidden.mutable_view()));
  ANEMONE_RETURN_IF_ERROR(model_->embed(ids, *inputs.host_inputs));
  inputs.host_inputs->set(position, static_cast<std::int64_t>(ids.size()), length);
  return Chunk{inputs.host_inputs.get(), &caches, &outputs, inputs.hidden.view()};
}

}  // namespace anemone::engine
