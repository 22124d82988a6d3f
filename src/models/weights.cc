// SPDX-License-Identifier: Apache-2.0
#include "models/weights.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

Projection::Part rows_of_stacked(const std::string& prefix, const std::vector<std::string>& names,
                                 const std::vector<std::int64_t>& rows, std::int64_t inputs,
                                 std::size_t index, std::int64_t begin, std::int64_t end) {
  const bool is_one = names.size() == 1;
  const auto before = rows.begin() + static_cast<std::ptrdiff_t>(index);
  const std::int64_t offset = is_one ? std::accumulate(rows.begin(), before, std::int64_t{0}) : 0;
  const std::int64_t all =
      is_one ? std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) : rows[index];
  return {.tensor = prefix + names[is_one ? 0 : index] + ".weight",
          .row_begin = offset + begin,
          .rows = end - begin,
          .shape = {all, inputs}};
}

Projection rows_of(const Projection& projection, std::int64_t begin, std::int64_t end,
                   std::string name) {
  Projection out = projection;
  out.name = std::move(name);
  out.parts.clear();
  std::int64_t before = 0;
  for (const Projection::Part& part : projection.parts) {
    const std::int64_t first = std::max(begin - before, std::int64_t{0});
    const std::int64_t last = std::min(end - before, part.rows);
    before += part.rows;
    if (first >= last) continue;
    Projection::Part& own = out.parts.emplace_back(part);
    own.row_begin += first * part.row_step;
    own.rows = last - first;
    if (part.shape.empty()) own.shape = {part.row_begin + part.rows, projection.tensor_inputs()};
  }
  return out;
}

std::int64_t row_count(const Projection& projection) {
  std::int64_t rows = 0;
  for (const Projection::Part& part : projection.parts) rows += part.rows;
  return rows;
}

}  // namespace anemone::models
