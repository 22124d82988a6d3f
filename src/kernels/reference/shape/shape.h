// SPDX-License-Identifier: Apache-2.0
// The reference kernels of the shape operations. A family of operations that share code has one
// file and one function for all; each of the others has a file and a function to itself.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

std::vector<KernelEntry> block_kernels();
std::vector<KernelEntry> fill_kernels();
std::vector<KernelEntry> slice_kernels();
std::vector<KernelEntry> space_batch_kernels();
std::vector<KernelEntry> view_kernels();

Status band_part_kernel(const KernelCall& call);
Status concat_kernel(const KernelCall& call);
Status crop_kernel(const KernelCall& call);
Status pad_kernel(const KernelCall& call);
Status range_1d_kernel(const KernelCall& call);
Status reverse_kernel(const KernelCall& call);
Status reverse_sequence_kernel(const KernelCall& call);
Status shape_kernel(const KernelCall& call);
Status sliding_windows_kernel(const KernelCall& call);
Status split_kernel(const KernelCall& call);
Status stack_kernel(const KernelCall& call);
Status tile_kernel(const KernelCall& call);
Status transpose_kernel(const KernelCall& call);

}  // namespace anemone::kernels::reference
