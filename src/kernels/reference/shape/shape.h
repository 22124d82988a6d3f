// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the shape operations, one file each.
#pragma once

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

Status band_part_kernel(const KernelCall& call);
Status batch_to_space_kernel(const KernelCall& call);
Status concat_kernel(const KernelCall& call);
Status crop_kernel(const KernelCall& call);
Status depth_to_space_kernel(const KernelCall& call);
Status expand_dims_kernel(const KernelCall& call);
Status fill_kernel(const KernelCall& call);
Status fill_like_kernel(const KernelCall& call);
Status flatten2d_kernel(const KernelCall& call);
Status pad_kernel(const KernelCall& call);
Status pixel_shuffle_kernel(const KernelCall& call);
Status pixel_unshuffle_kernel(const KernelCall& call);
Status range_1d_kernel(const KernelCall& call);
Status reshape_kernel(const KernelCall& call);
Status reshape_like_kernel(const KernelCall& call);
Status reverse_kernel(const KernelCall& call);
Status reverse_sequence_kernel(const KernelCall& call);
Status shape_kernel(const KernelCall& call);
Status slice_by_index_kernel(const KernelCall& call);
Status slice_by_size_kernel(const KernelCall& call);
Status slice_update_kernel(const KernelCall& call);
Status sliding_windows_kernel(const KernelCall& call);
Status space_to_batch_kernel(const KernelCall& call);
Status space_to_depth_kernel(const KernelCall& call);
Status split_kernel(const KernelCall& call);
Status squeeze_kernel(const KernelCall& call);
Status stack_kernel(const KernelCall& call);
Status tile_kernel(const KernelCall& call);
Status transpose_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
