// SPDX-License-Identifier: Apache-2.0
// Small kernels and what they compute, by plain loops.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/ane_direct/device.h"
#include "exec/ane_direct/kernel.h"
#include "tensor/tensor.h"
#include "tests/exec/ane_direct/checked_ane.h"

namespace anemone::exec::ane_direct::testing {

// Multiples of 1/16 from -1 to 1, so that small sums are exact in fp16.
inline Tensor sixteenths(const Shape& shape, std::uint32_t seed) {
  Tensor out(DType::kFp16, shape);
  std::uint32_t state = seed;
  for (Half& value : out.mutable_view().as<Half>()) {
    state = state * 1664525u + 1013904223u;
    value = to_half(static_cast<float>(static_cast<int>(state >> 20) % 33 - 16) / 16);
  }
  return out;
}

inline KernelSpec small_spec(const std::vector<std::int64_t>& rows, std::int64_t k,
                             bool has_bias = false) {
  KernelSpec spec{.name = "small", .matrices = {}};
  for (const std::int64_t count : rows) {
    const auto seed = static_cast<std::uint32_t>(7 * count + k + std::ssize(spec.matrices));
    KernelMatrix matrix{sixteenths({count, k}, seed), {}};
    if (has_bias) matrix.bias = sixteenths({count}, seed + 1);
    spec.matrices.push_back(std::move(matrix));
  }
  return spec;
}

// [rows, tokens] of one matrix; x is [k, tokens].
inline std::vector<float> product(const KernelMatrix& matrix, const Tensor& x) {
  const std::int64_t rows = matrix.weights.shape()[0];
  const std::int64_t k = matrix.weights.shape()[1];
  const std::int64_t tokens = x.shape()[1];
  const auto w = to_floats(matrix.weights.view());
  const auto a = to_floats(x.view());
  std::vector<float> out;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      float sum = matrix.bias.empty()
                      ? 0
                      : to_float(matrix.bias.view().as<Half>()[static_cast<std::size_t>(r)]);
      for (std::int64_t i = 0; i < k; ++i)
        sum += w[static_cast<std::size_t>(r * k + i)] * a[static_cast<std::size_t>(i * tokens + t)];
      out.push_back(sum);
    }
  }
  return out;
}

// A device over a double, with a budget of its own and no pauses.
struct TestDevice {
  explicit TestDevice(CheckedOptions options = {}, int most = CompileBudget::kMost)
      : budget(most), runtime(std::make_shared<CheckedAne>(std::move(options))) {}
  Result<std::shared_ptr<const Device>> open() {
    return Device::open(runtime, {.budget = &budget, .load_pause_ms = 0});
  }

  CompileBudget budget;
  std::shared_ptr<CheckedAne> runtime;
};

}  // namespace anemone::exec::ane_direct::testing
