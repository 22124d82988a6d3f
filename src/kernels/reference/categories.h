// SPDX-License-Identifier: Apache-2.0
// Each category folder has one function, which appends its kernels. registry.cc calls them all.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

void add_elementwise(std::vector<KernelEntry>& kernels);
void add_reduction(std::vector<KernelEntry>& kernels);
void add_shape(std::vector<KernelEntry>& kernels);
void add_linear(std::vector<KernelEntry>& kernels);
void add_norm(std::vector<KernelEntry>& kernels);
void add_constexpr(std::vector<KernelEntry>& kernels);
void add_indexing(std::vector<KernelEntry>& kernels);
void add_pool(std::vector<KernelEntry>& kernels);
void add_image(std::vector<KernelEntry>& kernels);
void add_recurrent(std::vector<KernelEntry>& kernels);
void add_random(std::vector<KernelEntry>& kernels);
void add_quantization(std::vector<KernelEntry>& kernels);

}  // namespace anemone::kernels::reference
