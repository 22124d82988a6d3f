// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/logprobs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/session/logit_row.h"

namespace anemone::engine {

TokenLogprobs token_logprobs(std::span<const float> logits, std::int32_t id, std::int64_t top) {
  const auto value = [&](std::int32_t token) {
    const float logit = logits[static_cast<std::size_t>(token)];
    if (std::isnan(logit)) return -std::numeric_limits<double>::infinity();
    // An infinite logit has all of the probability, and no NaN comes of it.
    return static_cast<double>(std::min(logit, std::numeric_limits<float>::max()));
  };
  LogitRow row;
  row.set(logits);
  std::vector<float> clipped;
  if (std::isinf(row.highest())) {
    clipped.assign(logits.begin(), logits.end());
    for (float& logit : clipped) logit = std::min(logit, std::numeric_limits<float>::max());
    row.set(clipped);
  }
  double log_sum = 0;
  if (!std::isinf(row.highest())) {
    std::vector<double> sums;
    log_sum = static_cast<double>(row.highest()) + std::log(row.sum_weights(1, sums));
  }

  TokenLogprobs out;
  out.logprob = value(id) - log_sum;
  const auto count =
      std::min(logits.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, top)));
  std::vector<std::int32_t> ids;
  if (count > 0) row.find(row.bound(count), ids);
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const double x = value(a);
                      const double y = value(b);
                      return x != y ? x > y : a < b;
                    });
  for (std::size_t i = 0; i < count; ++i) out.top.emplace_back(ids[i], value(ids[i]) - log_sum);
  return out;
}

}  // namespace anemone::engine
