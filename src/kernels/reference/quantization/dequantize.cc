// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/quantization/quantization.h"
#include "kernels/reference/quantization/scales.h"

namespace anemone::kernels::reference {

// scale * (input - zero point).
Status dequantize_kernel(const KernelCall& call) {
  const auto f = [](float x, float scale, float zero_point) { return scale * (x - zero_point); };
  const bool is_signed = call.input("input").dtype == DType::kInt8;
  if (call.output().dtype == DType::kFp16)
    return is_signed ? map_scaled<std::int8_t, Half>(call, f)
                     : map_scaled<std::uint8_t, Half>(call, f);
  return is_signed ? map_scaled<std::int8_t, float>(call, f)
                   : map_scaled<std::uint8_t, float>(call, f);
}

}  // namespace anemone::kernels::reference
