// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/reference/categories.h"
#include "kernels/reference/shape/shape.h"

namespace anemone::kernels::reference {

void add_shape(std::vector<KernelEntry>& kernels) {
  for (auto family :
       {block_kernels, fill_kernels, slice_kernels, space_batch_kernels, view_kernels})
    std::ranges::copy(family(), std::back_inserter(kernels));
  kernels.insert(kernels.end(), {{"band_part", band_part_kernel},
                                 {"concat", concat_kernel},
                                 {"crop", crop_kernel},
                                 {"pad", pad_kernel},
                                 {"range_1d", range_1d_kernel},
                                 {"reverse", reverse_kernel},
                                 {"reverse_sequence", reverse_sequence_kernel},
                                 {"shape", shape_kernel},
                                 {"sliding_windows", sliding_windows_kernel},
                                 {"split", split_kernel},
                                 {"stack", stack_kernel},
                                 {"tile", tile_kernel},
                                 {"transpose", transpose_kernel}});
}

}  // namespace anemone::kernels::reference
