// SPDX-License-Identifier: Apache-2.0
#include "quant/scheme.h"

#include <array>

#include "base/check.h"
#include "quant/blocks.h"
#include "quant/float_weight.h"
#include "quant/int8.h"
#include "quant/palette.h"

namespace anemone::quant {
namespace {

struct Row {
  Scheme scheme;
  std::string_view name;
};
constexpr std::array<Row, 9> kRows = {{{Scheme::kNone, "none"},
                                       {Scheme::kInt8, "int8"},
                                       {Scheme::kInt8Channel, "int8-channel"},
                                       {Scheme::kInt8Block, "int8-block"},
                                       {Scheme::kInt4Block, "int4-block"},
                                       {Scheme::kLut4, "lut4"},
                                       {Scheme::kLut6, "lut6"},
                                       {Scheme::kLut8, "lut8"},
                                       {Scheme::kMixed, "mixed"}}};

// Small matrices gain nothing and lose precision.
Scheme effective(const QuantOptions& options, std::int64_t elements) {
  return elements <= options.threshold ? Scheme::kNone : options.scheme;
}

int palette_bits(Scheme scheme) {
  return scheme == Scheme::kLut4 ? 4 : scheme == Scheme::kLut6 ? 6 : 8;
}

StoredWeight store(Scheme scheme, const QuantOptions& options,
                   std::shared_ptr<const MatrixSource> matrix, DType float_type) {
  switch (scheme) {
    case Scheme::kNone:
      return store_float(std::move(matrix), float_type);
    case Scheme::kInt8:
      return store_int8(std::move(matrix), float_type, false);
    case Scheme::kInt8Channel:
      return store_int8(std::move(matrix), float_type, true);
    case Scheme::kInt8Block:
      return store_blocks(std::move(matrix), float_type, DType::kInt8, options.block_size);
    case Scheme::kInt4Block:
      return store_blocks(std::move(matrix), float_type, DType::kInt4, options.block_size);
    case Scheme::kLut4:
    case Scheme::kLut6:
    case Scheme::kLut8:
      return store_palette(std::move(matrix), float_type, palette_bits(scheme),
                           options.palette_mode, options.group_size);
    case Scheme::kMixed:
      break;
  }
  ANEMONE_CHECK(false && "a choice by what the matrix does");
  return {};
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

StoredWeight store_weight(const QuantOptions& options, std::shared_ptr<const MatrixSource> matrix,
                          DType float_type) {
  const std::int64_t rows = matrix->rows();
  const std::int64_t columns = matrix->columns();
  StoredWeight weight =
      store(effective(options, rows * columns), options, std::move(matrix), float_type);
  weight.bytes = stored_bytes(options, rows, columns, float_type);
  return weight;
}

ir::Value* emit(ir::Builder& builder, const StoredWeight& weight, std::string_view name) {
  if (weight.op == "const") return builder.constant(weight.parameters.front().second, name);
  std::vector<std::pair<std::string_view, ir::Literal>> parameters;
  for (const auto& [parameter, literal] : weight.parameters)
    parameters.emplace_back(parameter, literal);
  return builder.constexpr_op(weight.op, std::move(parameters), name);
}

std::uint64_t stored_bytes(const QuantOptions& options, std::int64_t rows, std::int64_t columns,
                           DType float_type) {
  const auto elements = static_cast<std::uint64_t>(rows * columns);
  const std::uint64_t scale_bytes = dtype_bytes(float_type, 1);
  const Scheme scheme = effective(options, rows * columns);
  switch (scheme) {
    case Scheme::kNone:
      return elements * scale_bytes;
    case Scheme::kInt8:
      return elements + scale_bytes;
    case Scheme::kInt8Channel:
      return elements + static_cast<std::uint64_t>(rows) * scale_bytes;
    case Scheme::kInt8Block:
      return block_bytes(rows, columns, float_type, DType::kInt8, options.block_size);
    case Scheme::kInt4Block:
      return block_bytes(rows, columns, float_type, DType::kInt4, options.block_size);
    case Scheme::kLut4:
    case Scheme::kLut6:
    case Scheme::kLut8:
      return palette_bytes(rows, columns, float_type, palette_bits(scheme), options.group_size);
    case Scheme::kMixed:
      break;
  }
  ANEMONE_CHECK(false && "a choice by what the matrix does");
  return 0;
}

}  // namespace anemone::quant
