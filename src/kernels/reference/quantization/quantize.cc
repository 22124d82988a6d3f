// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/quantization/quantization.h"
#include "kernels/reference/quantization/scales.h"

namespace anemone::kernels::reference {
namespace {

// clip(round(input / scale) + zero point), half to even.
template <typename In, typename Out>
Status quantize_typed(const KernelCall& call) {
  return map_scaled<In, Out>(call, [](float x, float scale, float zero_point) {
    const float rounded = std::nearbyint(x / scale) + zero_point;
    return saturate_to_integer<Out>(static_cast<double>(rounded));
  });
}

}  // namespace

Status quantize_kernel(const KernelCall& call) {
  const bool is_signed = call.output().dtype == DType::kInt8;
  if (call.input("input").dtype == DType::kFp16)
    return is_signed ? quantize_typed<Half, std::int8_t>(call)
                     : quantize_typed<Half, std::uint8_t>(call);
  return is_signed ? quantize_typed<float, std::int8_t>(call)
                   : quantize_typed<float, std::uint8_t>(call);
}

}  // namespace anemone::kernels::reference
