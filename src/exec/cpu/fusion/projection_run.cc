// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/fusion/projection_run.h"

#include <algorithm>

namespace anemone::exec {

void ProjectionRun::store_row(std::int64_t r, float* values, std::int64_t first,
                              std::int64_t count) const {
  if (bias != nullptr) {
    const float addend = to_float(bias[r]);
    for (std::int64_t i = 0; i < count; ++i) values[i] += addend;
  }
  for (const ProjectionSegment& s : segments) {
    const std::int64_t begin = std::max(first, s.first);
    const std::int64_t end = std::min(first + count, s.first + s.tokens);
    if (begin >= end) continue;
    Half* y = s.y + r * s.y_channel + (begin - s.first) * s.y_token;
    if (s.y_token == 1) {
      context.kernels.to_halves(values + (begin - first), y, end - begin);
      continue;
    }
    for (std::int64_t t = begin; t < end; ++t, y += s.y_token) *y = to_half(values[t - first]);
  }
}

void ProjectionRun::store_token(std::int64_t begin, std::int64_t rows, float* values,
                                const ProjectionSegment& s, std::int64_t t) const {
  if (bias != nullptr)
    for (std::int64_t r = 0; r < rows; ++r) values[r] += to_float(bias[begin + r]);
  Half* y = s.y + t * s.y_token + begin * s.y_channel;
  if (s.y_channel == 1)
    context.kernels.to_halves(values, y, rows);
  else
    for (std::int64_t r = 0; r < rows; ++r) y[r * s.y_channel] = to_half(values[r]);
}

}  // namespace anemone::exec
