// SPDX-License-Identifier: Apache-2.0
#include "exec/step_facts.h"

#include <algorithm>

namespace anemone::exec {

const MaskFact* find_mask(const StepFacts* facts, std::string_view input) {
  if (facts == nullptr) return nullptr;
  for (const MaskFact& mask : facts->masks)
    if (mask.input == input) return &mask;
  return nullptr;
}

PositionRange attended(const MaskFact& mask, std::int64_t position, std::int64_t count,
                       std::int64_t t) {
  const std::int64_t next = position + std::min(t, count - 1) + 1;
  const std::int64_t last = position + count;
  const std::int64_t begin = mask.window == 0 ? 0 : std::max<std::int64_t>(next - mask.window, 0);
  if (!mask.is_bidirectional) return {begin, next};
  return {begin, mask.window == 0 ? last : std::min(last, next + mask.window - 1)};
}

}  // namespace anemone::exec
