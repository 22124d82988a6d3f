// SPDX-License-Identifier: Apache-2.0
// What all gathers and scatters come down to: runs of elements at computed places of a tensor. A
// gather writes the runs one after another, a scatter reads its updates so.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace anemone::kernels::reference {

struct Runs {
  std::vector<std::int64_t> offsets;  // of the first element of each run
  std::int64_t length = 1;            // elements of a run
};

// The three functions below find the runs of the call's operand `tensor` that its operand `indices`
// names, as its `validate_indices`, `axis` (0 when absent) and `batch_dims` (0 when absent) say.
// Errors about an index carry `label`.

// gather, scatter: the result, or the updates, have the shape
// shape[:axis] + indices[batch_dims:] + shape[axis + 1:]. The first batch_dims dimensions of
// `tensor` and `indices` are matched.
Result<Runs> runs_on_axis(const KernelCall& call, std::string_view tensor, std::string_view label);

// gather_along_axis, scatter_along_axis: one element for each index, at the coordinates of the
// index, of which the index replaces the one on `axis`.
Result<Runs> runs_along_axis(const KernelCall& call, std::string_view tensor,
                             std::string_view label);

// gather_nd, scatter_nd: the last dimension of `indices` holds coordinates of the dimensions after
// the first batch_dims ones.
Result<Runs> runs_at_points(const KernelCall& call, std::string_view tensor,
                            std::string_view label);

// Output 0 = the runs of `x`.
void gather_runs(const KernelCall& call, const Runs& runs);
// Output 0 = `data` with the updates applied to the runs in order, by `mode` ("add" when absent).
// Floats are kept as fp32 until all are applied; int32 wraps around and gives 0 when divided by 0.
Status scatter_runs(const KernelCall& call, const Runs& runs);

}  // namespace anemone::kernels::reference
