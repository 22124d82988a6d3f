// SPDX-License-Identifier: Apache-2.0
// The table of one instruction set. Included last by its file.
#pragma once

#include "kernels/simd/attention_kernels.h"
#include "kernels/simd/chain_kernels.h"
#include "kernels/simd/delta_net_chunk_kernels.h"
#include "kernels/simd/delta_net_kernels.h"
#include "kernels/simd/depthwise_conv_kernels.h"
#include "kernels/simd/matrix_kernels.h"
#include "kernels/simd/offset_kernels.h"
#include "kernels/simd/row_kernels.h"
#include "kernels/simd/vector_kernels.h"

namespace anemone::kernels::simd {
namespace ANEMONE_SIMD_NAMESPACE {

extern const Kernels kKernels;
const Kernels kKernels = {.to_floats = to_floats,
                          .to_halves = to_halves,
                          .columns_to_halves = columns_to_halves,
                          .order_columns = order_columns,
                          .multiply = multiply,
                          .sum_scale_blocks = sum_scale_blocks,
                          .subtract_offsets = subtract_offsets,
                          .rms_norm = rms_norm,
                          .rms_norm_rows = rms_norm_rows,
                          .layer_norm_rows = layer_norm_rows,
                          .softmax_rows = softmax_rows,
                          .run_chain = run_chain,
                          .add = add,
                          .silu_multiply = silu_multiply,
                          .rotate = rotate,
                          .attend = attend,
                          .attend_rows = kAttendRows,
                          .run_delta_net = run_delta_net,
                          .run_delta_net_chunk = run_delta_net_chunk,
                          .depthwise_conv = depthwise_conv};

}  // namespace ANEMONE_SIMD_NAMESPACE
}  // namespace anemone::kernels::simd
