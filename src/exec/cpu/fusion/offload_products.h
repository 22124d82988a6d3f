// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exec/cpu/prepared_program.h"
#include "exec/cpu/product_offload.h"
#include "kernels/simd/matrix.h"
#include "tensor/tensor.h"

namespace anemone::exec {

// Offers every projection of a function that is fused. Those that are taken stay projections, which
// ask the other side first.
void offload_products(PreparedFunction& function, ProductOffload& offload);

// The elements of a matrix in fp16, [rows, k], whatever its form.
Tensor dense_weights(const kernels::simd::Matrix& matrix);

}  // namespace anemone::exec
