// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/shape/shape.h"

#include "kernels/reference/categories.h"

namespace anemone::kernels::reference {

void add_shape(std::vector<KernelEntry>& kernels) {
  static constexpr KernelEntry kEntries[] = {
      {"band_part", band_part_kernel},
      {"batch_to_space", batch_to_space_kernel},
      {"concat", concat_kernel},
      {"crop", crop_kernel},
      {"depth_to_space", depth_to_space_kernel},
      {"expand_dims", expand_dims_kernel},
      {"fill", fill_kernel},
      {"fill_like", fill_like_kernel},
      {"flatten2d", flatten2d_kernel},
      {"pad", pad_kernel},
      {"pixel_shuffle", pixel_shuffle_kernel},
      {"pixel_unshuffle", pixel_unshuffle_kernel},
      {"range_1d", range_1d_kernel},
      {"reshape", reshape_kernel},
      {"reshape_like", reshape_like_kernel},
      {"reverse", reverse_kernel},
      {"reverse_sequence", reverse_sequence_kernel},
      {"shape", shape_kernel},
      {"slice_by_index", slice_by_index_kernel},
      {"slice_by_size", slice_by_size_kernel},
      {"slice_update", slice_update_kernel},
      {"sliding_windows", sliding_windows_kernel},
      {"space_to_batch", space_to_batch_kernel},
      {"space_to_depth", space_to_depth_kernel},
      {"split", split_kernel},
      {"squeeze", squeeze_kernel},
      {"stack", stack_kernel},
      {"tile", tile_kernel},
      {"transpose", transpose_kernel},
  };
  kernels.insert(kernels.end(), std::begin(kEntries), std::end(kEntries));
}

}  // namespace anemone::kernels::reference
