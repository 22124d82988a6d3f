// SPDX-License-Identifier: Apache-2.0
#include "probe/inputs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "probe/random_weights.h"

namespace anemone::probe {
namespace {

using artifact::PortRole;

constexpr std::int64_t kPosition = 3;  // of the first token of the step

// What stands at (row, column) of the last two axes, which have `rows` and `columns` elements.
float mask_value(PortRole role, std::int64_t row, std::int64_t column, std::int64_t rows,
                 std::int64_t columns) {
  const double angle =
      static_cast<double>(kPosition + row) *
      std::pow(10000.0, -static_cast<double>(column) / static_cast<double>(columns));
  switch (role) {
    case PortRole::kRopeCos:
      return static_cast<float>(std::cos(angle));
    case PortRole::kRopeSin:
      return static_cast<float>(std::sin(angle));
    case PortRole::kAttentionMask:
      return column <= kPosition + row ? 0 : artifact::kMaskedScore;
    case PortRole::kAttentionMaskPastAndStep: {
      const std::int64_t past = columns - rows;
      const bool is_attended = column < past ? column < kPosition : column - past <= row;
      return is_attended ? 0 : artifact::kMaskedScore;
    }
    case PortRole::kCacheWriteMask:
      return row == kPosition + column ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

Result<Tensor> make_input(const exec::Feature& feature, const Roles& roles, std::uint64_t seed) {
  Shape shape = feature.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != kDynamic) continue;
    if (i >= feature.size_ranges.size() ||
        feature.size_ranges[i].upper == exec::SizeRange::kUnbounded)
      return unsupported("[input {}] expected a bounded shape", feature.name);
    shape[i] = feature.size_ranges[i].upper;
  }
  const auto role = roles.find(feature.name);
  if (role != roles.end() && role->second == PortRole::kPosition) {
    Tensor position(feature.dtype, shape);
    std::ranges::fill(position.mutable_view().as<std::int32_t>(),
                      static_cast<std::int32_t>(kPosition));
    return position;
  }
  const bool is_keep = feature.name == "keep_mask";
  if (role == roles.end() && !is_keep) return random_tensor(feature.dtype, shape, 1, seed);
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      values.push_back(is_keep ? 1 - mask_value(PortRole::kCacheWriteMask, r, c, rows, columns)
                               : mask_value(role->second, r, c, rows, columns));
  Tensor out(feature.dtype, shape);
  store_floats(values, out.mutable_view());
  return out;
}

}  // namespace anemone::probe
