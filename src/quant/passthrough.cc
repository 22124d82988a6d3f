// SPDX-License-Identifier: Apache-2.0
#include "quant/passthrough.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "quant/float_weight.h"
#include "quant/linear.h"
#include "tensor/bits.h"
#include "tensor/half.h"

namespace anemone::quant {
namespace {

// Rows that are packed together: two rows of nibbles end on a whole byte.
constexpr std::int64_t kRowsAtOnce = 2;

// Fp16 holds an offset up to it to half an integer or better.
constexpr float kLargestOffset = 1024;

struct PassthroughRow {
  explicit PassthroughRow(const MatrixSource& matrix)
      : quants(static_cast<std::size_t>(matrix.columns())),
        scales(static_cast<std::size_t>(matrix.columns() / matrix.quantized_form()->group)),
        offsets(matrix.quantized_form()->has_minimums ? scales.size() : 0),
        matrix_(matrix) {}
  std::vector<std::int8_t> quants;
  std::vector<float> scales;
  std::vector<float> offsets;  // minimums until they are divided

  void read(std::int64_t row) {
    matrix_.read_quants(row, quants, scales);
    if (offsets.empty()) return;
    matrix_.read_minimums(row, offsets);
    for (std::size_t g = 0; g < offsets.size(); ++g) {
      const float offset = -offsets[g] / scales[g];
      if (std::abs(offset) <= kLargestOffset)
        offsets[g] = offset;
      else
        make_equal(g);
    }
  }

 private:
  // The values of a group without a scale, or so far from zero that their differences are lost
  // beside it: the mean of the lowest and the highest, which is -1 for an integer of 0.
  void make_equal(std::size_t g) {
    const std::size_t group = quants.size() / scales.size();
    const auto own = std::span(quants).subspan(g * group, group);
    const auto [least, most] = std::ranges::minmax(own);
    scales[g] = offsets[g] + scales[g] * static_cast<float>(least + most) / 2;
    offsets[g] = scales[g] == 0 ? 0.0F : -1.0F;
    std::ranges::fill(own, std::int8_t{0});
  }

  const MatrixSource& matrix_;
};

Result<Tensor> passthrough_data(const MatrixSource& matrix, DType dtype) {
  Tensor out(dtype, projection_shape(matrix));
  PassthroughRow row(matrix);
  std::vector<std::int32_t> values;
  std::span<std::byte> left = out.mutable_view().bytes();
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    row.read(r);
    if (dtype == DType::kInt8) {
      std::ranges::transform(row.quants, left.begin(),
                             [](std::int8_t q) { return static_cast<std::byte>(q); });
      left = left.subspan(row.quants.size());
      continue;
    }
    values.insert(values.end(), row.quants.begin(), row.quants.end());
    if ((r + 1) % kRowsAtOnce != 0 && r + 1 != matrix.rows()) continue;
    const auto bytes = static_cast<std::size_t>(dtype_bytes(dtype, values.size()));
    pack_bits(values, dtype, left.first(bytes));
    left = left.subspan(bytes);
    values.clear();
  }
  matrix.release();
  return out;
}

Result<Tensor> passthrough_floats(const MatrixSource& matrix, DType float_type, const Shape& shape,
                                  std::vector<float> PassthroughRow::*floats) {
  Tensor out(float_type, shape);
  PassthroughRow row(matrix);
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(element_count(shape)));
  const float largest = float_type == DType::kFp16 ? kLargestHalf : 3.4e38F;
  for (std::int64_t r = 0; r < matrix.rows(); ++r) {
    row.read(r);
    for (const float scale : row.scales)
      if (!(std::abs(scale) <= largest))
        return corrupt("[{}] expected scales that {} can hold, got {} in row {}", matrix.name(),
                       dtype_name(float_type), scale, r);
    all.insert(all.end(), (row.*floats).begin(), (row.*floats).end());
  }
  matrix.release();
  store_floats(all, out.mutable_view());
  return out;
}

}  // namespace

StoredWeight store_passthrough(std::shared_ptr<const MatrixSource> matrix, DType float_type) {
  const QuantizedForm form = *matrix->quantized_form();
  const DType dtype = form.bits == 4 ? DType::kInt4 : DType::kInt8;
  const Shape shape = projection_shape(*matrix);
  const Shape scale_shape = {matrix->rows(), matrix->columns() / form.group, 1, 1};
  StoredWeight weight;
  weight.scheme = form.bits == 4 ? Scheme::kInt4Block : Scheme::kInt8Block;
  weight.is_passthrough = true;
  weight.is_exact = (form.has_half_scales && !form.has_minimums) || float_type == DType::kFp32;
  weight.bytes =
      linear_bytes(matrix->rows(), matrix->columns(), float_type, dtype, {1, form.group});
  weight.op = "constexpr_blockwise_shift_scale";
  const auto floats_of = [&](std::string_view name, std::vector<float> PassthroughRow::*floats) {
    const std::uint64_t bytes =
        dtype_bytes(float_type, static_cast<std::uint64_t>(element_count(scale_shape)));
    weight.parameters.emplace_back(
        name, ir::Literal(ir::Type::tensor(float_type, scale_shape),
                          ir::lazy_data(bytes, [matrix, float_type, scale_shape, floats] {
                            return passthrough_floats(*matrix, float_type, scale_shape, floats);
                          })));
  };
  const auto count = [](const Shape& of) { return static_cast<std::uint64_t>(element_count(of)); };
  weight.parameters.emplace_back(
      "data", ir::Literal(ir::Type::tensor(dtype, shape),
                          ir::lazy_data(dtype_bytes(dtype, count(shape)), [matrix, dtype] {
                            return passthrough_data(*matrix, dtype);
                          })));
  floats_of("scale", &PassthroughRow::scales);
  if (form.has_minimums) {
    floats_of("offset", &PassthroughRow::offsets);
    weight.bytes += dtype_bytes(float_type, count(scale_shape));
  }
  return weight;
}

}  // namespace anemone::quant
