// SPDX-License-Identifier: Apache-2.0
// The values of a compressed weight, by the reference kernels.
#pragma once

#include <anemone/status.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace anemone::testing {

// The matrix that `op`, a constexpr operation or "const", makes of these parameters. Their order
// counts: the result has the shape of the first one (data or indices) and the float type of the
// last one (scales, palettes or the constant itself). Parameters that are texts have their
// defaults.
inline Result<Tensor> decoded_weight(std::string_view op,
                                     std::vector<std::pair<std::string, Tensor>> inputs) {
  if (op == "const") return std::move(inputs.front().second);
  class Call : public kernels::KernelCall {
   public:
    explicit Call(const std::vector<std::pair<std::string, Tensor>>& inputs)
        : inputs_(inputs),
          output_(inputs.back().second.view().dtype, inputs.front().second.view().shape) {}
    std::size_t count(std::string_view parameter) const override {
      return static_cast<std::size_t>(std::ranges::count_if(
          inputs_, [&](const auto& each) { return each.first == parameter; }));
    }
    TensorView input(std::string_view parameter, std::size_t /*i*/) const override {
      return std::ranges::find_if(inputs_,
                                  [&](const auto& each) { return each.first == parameter; })
          ->second.view();
    }
    std::string_view text(std::string_view /*parameter*/,
                          std::string_view fallback) const override {
      return fallback;
    }
    std::size_t output_count() const override { return 1; }
    MutableTensorView output(std::size_t /*i*/) const override { return output_.mutable_view(); }
    ThreadPool& threads() const override { return threads_; }
    Tensor take() { return std::move(output_); }

   private:
    const std::vector<std::pair<std::string, Tensor>>& inputs_;
    mutable Tensor output_;
    mutable ThreadPool threads_{1};
  };
  Call call(inputs);
  ANEMONE_RETURN_IF_ERROR(kernels::find_reference_kernel(op)(call));
  return call.take();
}

}  // namespace anemone::testing
