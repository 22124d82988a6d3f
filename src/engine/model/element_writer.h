// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace anemone::engine {

// Writes elements of an fp16 or fp32 tensor.
class ElementWriter {
 public:
  explicit ElementWriter(Tensor& tensor) : view_(tensor.mutable_view()) {
    if (view_.dtype == DType::kFp16)
      halves_ = view_.as<Half>();
    else
      floats_ = view_.as<float>();
  }
  void set(std::int64_t index, float value) const { fill(index, index + 1, value); }
  void fill(std::int64_t begin, std::int64_t end, float value) const {
    const auto offset = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0));
    if (count == 0) return;
    if (!halves_.empty())
      std::ranges::fill(halves_.subspan(offset, count), to_half(value));
    else
      std::ranges::fill(floats_.subspan(offset, count), value);
  }

 private:
  MutableTensorView view_;
  std::span<Half> halves_;
  std::span<float> floats_;
};

}  // namespace anemone::engine
