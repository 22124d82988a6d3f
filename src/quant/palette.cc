// SPDX-License-Identifier: Apache-2.0
#include "quant/palette.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "quant/float_weight.h"
#include "quant/kmeans.h"
#include "quant/packed_rows.h"

namespace anemone::quant {
namespace {

constexpr float kSmallestUnit = 1e-30f;

std::int64_t size_of_palette(DType dtype) {
  return std::int64_t{1} << dtype_bits(dtype);
}

std::int64_t rows_of_group(std::int64_t rows, std::int64_t group) {
  return group == 0 ? rows : fitting_divisor(rows, group);
}

// The palettes of a matrix, computed when they or the indices are asked for first. Thread-safe.
class Palettes {
 public:
  Palettes(std::shared_ptr<const MatrixSource> matrix, DType float_type, DType dtype,
           PaletteMode mode, std::int64_t group, std::shared_ptr<QuantError> error)
      : matrix_(std::move(matrix)),
        float_type_(float_type),
        dtype_(dtype),
        size_(static_cast<std::size_t>(size_of_palette(dtype))),
        mode_(mode),
        group_(rows_of_group(matrix_->rows(), group)),
        error_(std::move(error)) {}

  Shape lut_shape() const {
    return {matrix_->rows() / group_, 1, 1, 1, static_cast<std::int64_t>(size_), 1};
  }

  Result<Tensor> lut() {
    ANEMONE_RETURN_IF_ERROR(compute());
    Tensor out(float_type_, lut_shape());
    store_floats(values_, out.mutable_view());
    return out;
  }

  Result<Tensor> indices() {
    ANEMONE_RETURN_IF_ERROR(compute());
    std::vector<float> borders;
    std::int64_t current = -1;
    return pack_rows(
        *matrix_, dtype_,
        [&](std::int64_t row, std::span<const float> values, std::span<std::int32_t> quants,
            std::span<float> restored) {
          if (const std::int64_t group = row / group_; group != current) {
            borders = borders_of(group);
            current = group;
          }
          for (std::size_t i = 0; i < values.size(); ++i) quants[i] = index_of(borders, values[i]);
          const float* palette = &values_[static_cast<std::size_t>(current) * size_];
          for (std::size_t i = 0; i < restored.size(); ++i) restored[i] = palette[quants[i]];
        },
        error_.get());
  }

 private:
  // The middles between neighbouring values. What lies on one belongs to the value below.
  std::vector<float> borders_of(std::int64_t group) const {
    const float* values = &values_[static_cast<std::size_t>(group) * size_];
    std::vector<float> borders;
    for (std::size_t i = 0; i + 1 < size_; ++i)
      borders.push_back(values[i] / 2 + values[i + 1] / 2);
    return borders;
  }

  // How many borders lie below the value; their number is one less than a power of two.
  static std::int32_t index_of(const std::vector<float>& borders, float value) {
    std::size_t below = 0;
    for (std::size_t step = (borders.size() + 1) / 2; step > 0; step /= 2)
      if (value > borders[below + step - 1]) below += step;
    return static_cast<std::int32_t>(below);
  }

  Status compute() {
    std::call_once(once_, [this] { status_ = measure(); });
    return status_;
  }

  Status measure() {
    values_.reserve(static_cast<std::size_t>(element_count(lut_shape())));
    RowReader rows(*matrix_);
    for (std::int64_t begin = 0; begin < matrix_->rows(); begin += group_)
      ANEMONE_RETURN_IF_ERROR(measure_group(rows, begin));
    matrix_->release();
    return {};
  }

  Status measure_group(RowReader& rows, std::int64_t begin) {
    float low = 0;
    float high = 0;
    for (std::int64_t r = begin; r < begin + group_; ++r) {
      const std::span<const float> row = rows.row(r);
      ANEMONE_RETURN_IF_ERROR(check_row(*matrix_, r, row, float_type_));
      const auto [least, most] = std::ranges::minmax(row);
      low = r == begin ? least : std::min(low, least);
      high = r == begin ? most : std::max(high, most);
    }
    std::vector<float> palette;
    if (mode_ == PaletteMode::kUniform) {
      for (std::size_t i = 0; i < size_; ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(size_ - 1);
        palette.push_back(static_cast<float>(static_cast<double>(low) * (1 - share) +
                                             static_cast<double>(high) * share));
      }
    } else {
      const float largest = std::max(std::abs(low), std::abs(high));
      // What is smaller than any unit is zero to it.
      Histogram histogram(largest > kSmallestUnit ? largest : 1.0f);
      for (std::int64_t r = begin; r < begin + group_; ++r) {
        histogram.add(rows.row(r));
      }
      palette = kmeans(histogram.bins(), size_);
      palette.resize(size_, palette.back());
    }
    Tensor rounded(float_type_, {static_cast<std::int64_t>(size_)});
    store_floats(palette, rounded.mutable_view());
    palette = to_floats(rounded.view());
    values_.insert(values_.end(), palette.begin(), palette.end());
    return {};
  }

  std::shared_ptr<const MatrixSource> matrix_;
  const DType float_type_;
  const DType dtype_;
  const std::size_t size_;  // of one palette
  const PaletteMode mode_;
  const std::int64_t group_;  // rows that share a palette
  std::shared_ptr<QuantError> error_;
  std::once_flag once_;
  Status status_;
  std::vector<float> values_;
};

}  // namespace

StoredWeight store_palette(std::shared_ptr<const MatrixSource> matrix, DType float_type,
                           DType dtype, PaletteMode mode, std::int64_t group, bool measure_error) {
  const Shape shape = projection_shape(*matrix);
  auto error = measure_error ? std::make_shared<QuantError>() : nullptr;
  auto palettes =
      std::make_shared<Palettes>(std::move(matrix), float_type, dtype, mode, group, error);
  const Shape lut_shape = palettes->lut_shape();
  const auto bytes = [](DType type, const Shape& of) {
    return dtype_bytes(type, static_cast<std::uint64_t>(element_count(of)));
  };
  StoredWeight weight;
  weight.error = std::move(error);
  weight.op = "constexpr_lut_to_dense";
  weight.parameters.emplace_back(
      "indices",
      ir::Literal(ir::Type::tensor(dtype, shape),
                  ir::lazy_data(bytes(dtype, shape), [palettes] { return palettes->indices(); })));
  weight.parameters.emplace_back(
      "lut", ir::Literal(ir::Type::tensor(float_type, lut_shape),
                         ir::lazy_data(bytes(float_type, lut_shape),
                                       [palettes] { return palettes->lut(); })));
  return weight;
}

std::uint64_t palette_bytes(std::int64_t rows, std::int64_t columns, DType float_type, DType dtype,
                            std::int64_t group) {
  const std::int64_t palettes = rows / rows_of_group(rows, group);
  return dtype_bytes(dtype, static_cast<std::uint64_t>(rows * columns)) +
         dtype_bytes(float_type, static_cast<std::uint64_t>(palettes * size_of_palette(dtype)));
}

}  // namespace anemone::quant
