// SPDX-License-Identifier: Apache-2.0
#include "models/weights.h"

#include <numeric>

namespace anemone::models {

std::vector<Projection::Part> stacked(const std::string& prefix,
                                      const std::vector<std::string>& names,
                                      const std::vector<std::int64_t>& rows) {
  if (names.size() == 1)
    return {{prefix + names[0] + ".weight", 0,
             std::accumulate(rows.begin(), rows.end(), std::int64_t{0})}};
  std::vector<Projection::Part> parts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    parts.push_back({prefix + names[i] + ".weight", 0, rows[i]});
  return parts;
}

}  // namespace anemone::models
