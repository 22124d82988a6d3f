// SPDX-License-Identifier: Apache-2.0
#include "engine/model/mask_pool.h"

#include <algorithm>
#include <utility>

#include "engine/model/element_writer.h"

namespace anemone::engine {

DenseMask::DenseMask(const HostInput& input, std::int64_t tokens, std::int64_t context)
    : input_(input),
      tokens_(tokens),
      context_(context),
      tensor_(input.dtype, host_input_shape(input, tokens, context)) {
  if (input.role != artifact::PortRole::kAttentionMask) return;
  open_.resize(static_cast<std::size_t>(tokens));
  ElementWriter(tensor_).fill(0, tokens * context, artifact::kMaskedScore);
}

void DenseMask::set(std::int64_t position, std::int64_t count) {
  if (input_.role == artifact::PortRole::kAttentionMask)
    set_attention(position, count);
  else
    set_write(position, count);
}

void DenseMask::set_attention(std::int64_t position, std::int64_t count) {
  const ElementWriter writer(tensor_);
  const exec::MaskFact fact = mask_fact(input_, {});
  for (std::int64_t t = 0; t < tokens_; ++t) {
    const exec::PositionRange wanted = exec::attended(fact, position, count, t);
    exec::PositionRange& open = open_[static_cast<std::size_t>(t)];
    const std::int64_t row = t * context_;
    // Close the part of the old range outside the new one, then open the part of the new one
    // outside the old one: a decode step touches one or two elements.
    writer.fill(row + open.begin, row + std::min(open.end, wanted.begin), artifact::kMaskedScore);
    writer.fill(row + std::max(open.begin, wanted.end), row + open.end, artifact::kMaskedScore);
    writer.fill(row + wanted.begin, row + std::min(wanted.end, open.begin), 0);
    writer.fill(row + std::max(wanted.begin, open.end), row + wanted.end, 0);
    open = wanted;
  }
}

void DenseMask::set_write(std::int64_t position, std::int64_t count) {
  const ElementWriter writer(tensor_);
  for (std::int64_t t = 0; t < written_count_; ++t)
    writer.set((written_begin_ + t) * tokens_ + t, 0);
  for (std::int64_t t = 0; t < count; ++t) writer.set((position + t) * tokens_ + t, 1);
  written_begin_ = position;
  written_count_ = count;
}

std::unique_ptr<DenseMask> MaskPool::take(const HostInput& input, std::int64_t tokens,
                                          std::int64_t context) {
  {
    const std::lock_guard lock(mutex_);
    for (auto it = idle_.rbegin(); it != idle_.rend(); ++it)
      if ((*it)->is_for(input, tokens)) {
        std::unique_ptr<DenseMask> found = std::move(*it);
        idle_.erase(std::next(it).base());
        return found;
      }
  }
  return std::make_unique<DenseMask>(input, tokens, context);
}

void MaskPool::give(std::unique_ptr<DenseMask> mask) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const auto& other) { return other->tokens() != mask->tokens(); });
  idle_.push_back(std::move(mask));
}

}  // namespace anemone::engine
