// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/reference/constexpr/blocks.h"
#include "kernels/reference/constexpr/constexpr.h"
#include "kernels/reference/constexpr/elements.h"
#include "kernels/reference/constexpr/sparse.h"

namespace anemone::kernels::reference {

// The block of a nonzero element is that of its place in the dense tensor.
Status constexpr_sparse_blockwise_shift_scale_kernel(const KernelCall& call) {
  const TensorView mask = call.input("data_mask");
  const TensorView nonzero = call.input("nonzero_data");
  const TensorView scale = call.input("scale");
  ANEMONE_ASSIGN_OR_RETURN(
      const auto positions,
      positions_of(mask, nonzero.size(), "constexpr_sparse_blockwise_shift_scale_c5"));
  std::copy_n(mask.data, mask.size_bytes(), call.output(0).data);
  const std::vector<float> scales = to_floats(scale);
  std::vector<float> offsets(scales.size(), 0.0f);
  if (call.has("offset")) offsets = to_floats(call.input("offset"));
  std::vector<float> values(positions.size());
  read_floats(nonzero, 0, values);
  const BlockMap map(mask.shape, scale.shape);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto block = static_cast<std::size_t>(map.block_of(positions[i]));
    values[i] = scales[block] * (values[i] - offsets[block]);
  }
  write_floats(values, call.output(1), 0);
  return {};
}

}  // namespace anemone::kernels::reference
