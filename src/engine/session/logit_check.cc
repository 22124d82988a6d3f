// SPDX-License-Identifier: Apache-2.0
#include "engine/session/logit_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace anemone::engine {

Status check_logits(std::span<const float> logits, std::string_view model, std::int64_t position) {
  LogitRow row;
  row.set(logits);
  return check_logits(row, model, position);
}

Status check_logits(const LogitRow& row, std::string_view model, std::int64_t position) {
  const std::span<const float> logits = row.logits();
  if (!row.has_nan() && row.highest() != -std::numeric_limits<float>::infinity()) return {};
  const auto count = std::ranges::count_if(logits, [](float logit) { return std::isnan(logit); });
  if (count == 0)
    return corrupt("[{0}] the logits at position {2} cannot be used: all {1} are minus infinity",
                   model, logits.size(), position);
  return corrupt("[{0}] the logits at position {3} cannot be used: {1} of {2} are NaN", model,
                 count, logits.size(), position);
}

}  // namespace anemone::engine
