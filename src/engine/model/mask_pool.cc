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
      tensor_(input.dtype, host_input_shape(input, tokens, context)),
      columns_(tensor_.shape()[3]) {
  if (input.role == artifact::PortRole::kCacheWriteMask) return;
  shown_.resize(static_cast<std::size_t>(tokens));
  ElementWriter(tensor_).fill(0, tokens * columns_, artifact::kMaskedScore);
}

void DenseMask::set(std::int64_t position, std::int64_t count) {
  if (input_.role == artifact::PortRole::kCacheWriteMask)
    set_write(position, count);
  else
    set_attention(position, count);
}

void DenseMask::set_attention(std::int64_t position, std::int64_t count) {
  const exec::MaskFact fact = mask_fact(input_, {});
  const bool is_split = input_.role == artifact::PortRole::kAttentionMaskPastAndStep;
  // A mask of past and step has so many columns for the past; the first one is for this position.
  const std::int64_t past = columns_ - tokens_;
  const std::int64_t first = std::max<std::int64_t>(position - past, 0);
  for (std::int64_t t = 0; t < tokens_; ++t) {
    exec::PositionRange wanted = exec::attended(fact, position, count, t);
    Shown& shown = shown_[static_cast<std::size_t>(t)];
    if (is_split) {
      const std::int64_t shift = past - position;
      show(t, shown.of_step,
           {std::max(wanted.begin, position) + shift, std::max(wanted.end, position) + shift});
      wanted = {std::min(wanted.begin, position) - first, std::min(wanted.end, position) - first};
    }
    show(t, shown.columns, wanted);
  }
}

// Closes the part of the old run outside the new one, then opens the part of the new one outside
// the old one: a decode step touches one or two elements.
void DenseMask::show(std::int64_t row, exec::PositionRange& shown,
                     const exec::PositionRange& wanted) {
  const ElementWriter writer(tensor_);
  const std::int64_t first = row * columns_;
  const auto fill = [&](std::int64_t begin, std::int64_t end, float value) {
    writer.fill(first + begin, first + end, value);
  };
  fill(shown.begin, std::min(shown.end, wanted.begin), artifact::kMaskedScore);
  fill(std::max(shown.begin, wanted.end), shown.end, artifact::kMaskedScore);
  fill(wanted.begin, std::min(wanted.end, shown.begin), 0);
  fill(std::max(wanted.begin, shown.end), wanted.end, 0);
  shown = wanted;
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
      if ((*it)->is_for(input, tokens, context)) {
        std::unique_ptr<DenseMask> found = std::move(*it);
        idle_.erase(std::next(it).base());
        return found;
      }
  }
  return std::make_unique<DenseMask>(input, tokens, context);
}

void MaskPool::give(std::unique_ptr<DenseMask> mask) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const auto& other) {
    return other->tokens() != mask->tokens() || other->is_outgrown_by(*mask);
  });
  idle_.push_back(std::move(mask));
}

}  // namespace anemone::engine
