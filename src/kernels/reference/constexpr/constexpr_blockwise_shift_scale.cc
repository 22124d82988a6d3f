// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "kernels/reference/constexpr/blocks.h"
#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"

namespace anemone::kernels::reference {

// scale * (data - offset), one scale and offset per block.
Status constexpr_blockwise_shift_scale_kernel(const KernelCall& call) {
  constexpr std::int64_t kGrainElements = 64 * 1024;
  const MutableTensorView out = call.output();
  if (out.size() == 0) return {};
  const TensorView data = call.input("data");
  const TensorView scale = call.input("scale");
  const std::vector<float> scales = to_floats(scale);
  std::vector<float> offsets(scales.size(), 0.0f);
  if (call.has("offset")) offsets = to_floats(call.input("offset"));
  const BlockMap map(data.shape, scale.shape);
  const std::int64_t length = map.row_length();
  call.threads().parallel_for(
      map.rows(), kGrainElements / length, [&](std::int64_t begin, std::int64_t end) {
        std::vector<float> row(static_cast<std::size_t>(length));
        for (std::int64_t r = begin; r < end; ++r) {
          read_floats(data, r * length, row);
          auto block = static_cast<std::size_t>(map.row_block(r));
          for (auto at = row.begin(); at != row.end(); at += map.run(), ++block) {
            const float factor = scales[block];
            const float offset = offsets[block];
            std::for_each(at, at + map.run(), [=](float& x) { x = factor * (x - offset); });
          }
          write_floats(row, out, r * length);
        }
      });
  return {};
}

}  // namespace anemone::kernels::reference
