// SPDX-License-Identifier: Apache-2.0
#include "quant/scheme.h"

#include <array>

#include "quant/float_weight.h"
#include "quant/linear.h"
#include "quant/older_form.h"
#include "quant/packed_rows.h"
#include "quant/palette.h"
#include "quant/passthrough.h"

namespace anemone::quant {
namespace {

// The families of schemes: what each enumerator means is in one table.
enum class Family { kFloat, kLinear, kPalette, kPassthrough };
enum class Sharing { kMatrix, kChannel, kBlock };

struct Row {
  Scheme scheme;
  std::string_view name;
  Family family;
  DType dtype;  // of the quantized elements or indices
  Sharing sharing = Sharing::kMatrix;
};
constexpr std::array<Row, 9> kRows = {
    {{Scheme::kNone, "none", Family::kFloat, DType::kFp32},
     {Scheme::kInt8, "int8", Family::kLinear, DType::kInt8, Sharing::kMatrix},
     {Scheme::kInt8Channel, "int8-channel", Family::kLinear, DType::kInt8, Sharing::kChannel},
     {Scheme::kInt8Block, "int8-block", Family::kLinear, DType::kInt8, Sharing::kBlock},
     {Scheme::kInt4Block, "int4-block", Family::kLinear, DType::kInt4, Sharing::kBlock},
     {Scheme::kLut4, "lut4", Family::kPalette, DType::kUInt4},
     {Scheme::kLut6, "lut6", Family::kPalette, DType::kUInt6},
     {Scheme::kLut8, "lut8", Family::kPalette, DType::kUInt8},
     {Scheme::kPassthrough, "keep", Family::kPassthrough, DType::kInt8, Sharing::kBlock}}};

const Row& row_of(Scheme scheme) {
  return kRows[static_cast<std::size_t>(scheme)];
}

// Small matrices gain nothing and lose precision.
const Row& effective(const QuantOptions& options, std::int64_t elements) {
  return row_of(elements <= options.threshold ? Scheme::kNone : options.scheme);
}

Tile tile_of(const Row& row, const QuantOptions& options, std::int64_t rows, std::int64_t columns) {
  switch (row.sharing) {
    case Sharing::kMatrix:
      return {rows, columns};
    case Sharing::kChannel:
      return {1, columns};
    case Sharing::kBlock:
      break;
  }
  return {1, fitting_divisor(columns, options.block_size)};
}

// What kPassthrough means for this matrix.
StoredWeight store_as_it_is(const QuantOptions& options, std::shared_ptr<const MatrixSource> matrix,
                            DType float_type) {
  if (matrix->quantized_form()) return store_passthrough(std::move(matrix), float_type);
  QuantOptions other = options;
  other.scheme = matrix->quantized_bits() != 0 ? Scheme::kInt8Block : Scheme::kNone;
  return store_weight(other, std::move(matrix), float_type);
}

// The palette whose indices have the fewest bits that are not below `bits`, or the most there are.
Scheme palette_of(int bits) {
  if (bits <= 4) return Scheme::kLut4;
  return bits <= 6 ? Scheme::kLut6 : Scheme::kLut8;
}

}  // namespace

std::string_view scheme_name(Scheme scheme) {
  return row_of(scheme).name;
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

bool stays_float(const QuantOptions& options, std::int64_t elements) {
  return effective(options, elements).family == Family::kFloat;
}

StoredWeight store_weight(const QuantOptions& options, std::shared_ptr<const MatrixSource> matrix,
                          DType float_type) {
  if (const int bits = matrix->quantized_bits(); bits != 0 && options.keeps_bits) {
    QuantOptions palette = options;
    palette.scheme = palette_of(bits);
    palette.keeps_bits = false;
    palette.measure_error = true;
    return store_weight(palette, std::move(matrix), float_type);
  }
  const std::int64_t rows = matrix->rows();
  const std::int64_t columns = matrix->columns();
  const Row& row = effective(options, rows * columns);
  StoredWeight weight;
  switch (row.family) {
    case Family::kFloat:
      weight = store_float(std::move(matrix), float_type);
      break;
    case Family::kLinear:
      weight = store_linear(std::move(matrix), float_type, row.dtype,
                            tile_of(row, options, rows, columns), options.measure_error);
      break;
    case Family::kPalette:
      weight = store_palette(std::move(matrix), float_type, row.dtype, options.palette_mode,
                             options.group_size, options.measure_error);
      break;
    case Family::kPassthrough:
      return store_as_it_is(options, std::move(matrix), float_type);
  }
  weight.scheme = row.scheme;
  weight.bytes = stored_bytes(options, rows, columns, float_type);
  return weight;
}

namespace {
ir::Value* emit_as_it_is(ir::Builder& builder, const StoredWeight& weight, std::string_view name) {
  if (weight.op == "const") return builder.constant(weight.parameters.front().second, name);
  std::vector<std::pair<std::string_view, ir::Literal>> parameters;
  for (const auto& [parameter, literal] : weight.parameters)
    parameters.emplace_back(parameter, literal);
  return builder.constexpr_op(weight.op, std::move(parameters), name);
}
}  // namespace

ir::Value* emit(ir::Builder& builder, const StoredWeight& weight, std::string_view name) {
  if (builder.function().opset >= ir::Opset::kIOS18) return emit_as_it_is(builder, weight, name);
  const auto older = older_form(weight);
  if (older.ok()) return emit_as_it_is(builder, *older, name);
  builder.fail(older.status());
  return nullptr;
}

std::uint64_t stored_bytes(const QuantOptions& options, std::int64_t rows, std::int64_t columns,
                           DType float_type) {
  const Row& row = effective(options, rows * columns);
  switch (row.family) {
    case Family::kFloat:
      break;
    case Family::kLinear:
      return linear_bytes(rows, columns, float_type, row.dtype,
                          tile_of(row, options, rows, columns));
    case Family::kPassthrough:
      // Sixteen is the smallest group that there is.
      return linear_bytes(rows, columns, float_type, DType::kInt8,
                          {1, fitting_divisor(columns, 16)});
    case Family::kPalette:
      return palette_bytes(rows, columns, float_type, row.dtype, options.group_size);
  }
  return dtype_bytes(float_type, static_cast<std::uint64_t>(rows * columns));
}

}  // namespace anemone::quant
