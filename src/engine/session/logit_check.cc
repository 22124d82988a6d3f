// SPDX-License-Identifier: Apache-2.0
#include "engine/session/logit_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace anemone::engine {

Status check_logits(std::span<const float> logits, std::string_view model, std::int64_t position) {
  // The loop looks at the bits of the floats, because compilers vectorise integer operations. They
  // do not vectorise a maximum of floats, whose result depends on the order if some are NaN.
  constexpr std::uint32_t kMagnitude = 0x7FFFFFFF;
  constexpr std::uint32_t kInfinity = 0x7F800000;
  std::uint32_t has_nan = 0;
  std::uint32_t is_above_lowest = 0;  // some logit is not minus infinity
  for (const float logit : logits) {
    const auto bits = std::bit_cast<std::uint32_t>(logit);
    has_nan |= static_cast<std::uint32_t>(static_cast<std::int32_t>(bits & kMagnitude) >
                                          static_cast<std::int32_t>(kInfinity));
    is_above_lowest |= bits ^ (kInfinity | ~kMagnitude);
  }
  if (has_nan == 0 && is_above_lowest != 0) return {};
  const auto count = std::ranges::count_if(logits, [](float logit) { return std::isnan(logit); });
  if (count == 0)
    return corrupt("[{0}] the logits at position {2} cannot be used: all {1} are minus infinity",
                   model, logits.size(), position);
  return corrupt("[{0}] the logits at position {3} cannot be used: {1} of {2} are NaN", model,
                 count, logits.size(), position);
}

}  // namespace anemone::engine
