// SPDX-License-Identifier: Apache-2.0
#include "quant/scheme.h"

#include <array>

#include "base/check.h"
#include "quant/float_weight.h"
#include "quant/int8.h"

namespace anemone::quant {
namespace {

struct Row {
  Scheme scheme;
  std::string_view name;
};
constexpr std::array<Row, 3> kRows = {
    {{Scheme::kNone, "none"}, {Scheme::kInt8, "int8"}, {Scheme::kInt8Channel, "int8-channel"}}};

// Small matrices gain nothing and lose precision.
Scheme effective(Scheme scheme, std::int64_t elements, std::int64_t threshold) {
  return elements <= threshold ? Scheme::kNone : scheme;
}

}  // namespace

std::string_view scheme_name(Scheme scheme) {
  return kRows[static_cast<std::size_t>(scheme)].name;
}

std::optional<Scheme> parse_scheme(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.scheme;
  return std::nullopt;
}

std::vector<std::string_view> scheme_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

StoredWeight store_weight(Scheme scheme, std::shared_ptr<const MatrixSource> matrix,
                          DType float_type, std::int64_t threshold) {
  const std::int64_t rows = matrix->rows();
  const std::int64_t columns = matrix->columns();
  scheme = effective(scheme, rows * columns, threshold);
  StoredWeight weight;
  switch (scheme) {
    case Scheme::kNone:
      weight = store_float(std::move(matrix), float_type);
      break;
    case Scheme::kInt8:
      weight = store_int8(std::move(matrix), float_type, false);
      break;
    case Scheme::kInt8Channel:
      weight = store_int8(std::move(matrix), float_type, true);
      break;
  }
  weight.bytes = stored_bytes(scheme, rows, columns, float_type, threshold);
  return weight;
}

ir::Value* emit(ir::Builder& builder, const StoredWeight& weight, std::string_view name) {
  if (weight.op == "const") return builder.constant(weight.parameters.front().second, name);
  std::vector<std::pair<std::string_view, ir::Literal>> parameters;
  for (const auto& [parameter, literal] : weight.parameters)
    parameters.emplace_back(parameter, literal);
  return builder.constexpr_op(weight.op, std::move(parameters), name);
}

std::uint64_t stored_bytes(Scheme scheme, std::int64_t rows, std::int64_t columns, DType float_type,
                           std::int64_t threshold) {
  const auto elements = static_cast<std::uint64_t>(rows * columns);
  const std::uint64_t scale_bytes = dtype_bytes(float_type, 1);
  switch (effective(scheme, rows * columns, threshold)) {
    case Scheme::kNone:
      return elements * scale_bytes;
    case Scheme::kInt8:
      return elements + scale_bytes;
    case Scheme::kInt8Channel:
      return elements + static_cast<std::uint64_t>(rows) * scale_bytes;
  }
  return 0;
}

}  // namespace anemone::quant
