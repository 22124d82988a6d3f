// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"

namespace anemone::kernels::reference {

// scale * (data - zero point), each of them one number or one per channel along `axis`.
Status constexpr_affine_dequantize_kernel(const KernelCall& call) {
  const MutableTensorView out = call.output();
  if (out.size() == 0) return {};
  const TensorView data = call.input("quantized_data");
  const std::vector<float> scales = to_floats(call.input("scale"));
  const std::vector<float> zero_points = to_floats(call.input("zero_point"));
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), data.shape.size()));
  const std::int64_t channels = data.shape[static_cast<std::size_t>(axis)];
  const std::int64_t run = strides_of(data.shape)[static_cast<std::size_t>(axis)];
  call.threads().parallel_for(
      data.size() / run, 1 + 16 * 1024 / run, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> values(static_cast<std::size_t>(run));
        for (std::int64_t r = begin; r < end; ++r) {
          const auto channel = static_cast<std::size_t>(r % channels);
          const float scale = scales[scales.size() == 1 ? 0 : channel];
          const float zero_point = zero_points[zero_points.size() == 1 ? 0 : channel];
          read_floats(data, r * run, values);
          for (float& value : values) value = scale * (value - zero_point);
          write_floats(values, out, r * run);
        }
      });
  return {};
}

}  // namespace anemone::kernels::reference
