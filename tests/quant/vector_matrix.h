// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "quant/scheme.h"

namespace anemone::quant {

class VectorMatrix : public MatrixSource {
 public:
  // `bits`: of integers that the source has; 0: floats.
  VectorMatrix(std::int64_t rows, std::int64_t columns, std::vector<float> values, int bits = 0)
      : rows_(rows), columns_(columns), values_(std::move(values)), bits_(bits) {}
  std::int64_t rows() const override { return rows_; }
  std::int64_t columns() const override { return columns_; }
  void read_rows(std::int64_t begin, std::int64_t count, std::span<float> out) const override {
    std::copy_n(values_.begin() + begin * columns_, count * columns_, out.begin());
  }
  int quantized_bits() const override { return bits_; }
  void release() const override { ++released; }
  std::string_view name() const override { return "matrix"; }
  mutable int released = 0;

 private:
  std::int64_t rows_, columns_;
  std::vector<float> values_;
  int bits_;
};

inline Result<Tensor> parameter(const StoredWeight& weight, std::string_view name) {
  for (const auto& [key, literal] : weight.parameters)
    if (key == name) return literal.to_tensor();
  return Status(Code::kNotFound, std::string(name));
}

}  // namespace anemone::quant
