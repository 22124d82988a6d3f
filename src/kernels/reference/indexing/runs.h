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

// How the runs of a call are found; errors about an index carry `label`.
struct Indexing {
  std::string_view label;
  bool allow_negative = true;
};
// Reads `validate_indices`.
Indexing indexing_of(const KernelCall& call, std::string_view label);

// shape[:axis] + indices[batch_dims:] + shape[axis + 1:]; the first batch_dims dimensions of both
// go together.
Result<Runs> runs_on_axis(const Shape& shape, const TensorView& indices, std::size_t axis,
                          std::size_t batch_dims, const Indexing& indexing);

// One element for each index, which replaces its own coordinate on `axis`.
Result<Runs> runs_along_axis(const Shape& shape, const TensorView& indices, std::size_t axis,
                             const Indexing& indexing);

// The last dimension of `indices` holds coordinates of the dimensions after the batch ones.
Result<Runs> runs_at_points(const Shape& shape, const TensorView& indices, std::size_t batch_dims,
                            const Indexing& indexing);

// Output 0 = the runs of `x`.
void gather_runs(const KernelCall& call, const Runs& runs);
// Output 0 = `data` with the updates applied to the runs in order, by `mode` ("add" when absent).
// Floats are kept as fp32 until all are applied; int32 wraps around and gives 0 when divided by 0.
Status scatter_runs(const KernelCall& call, const Runs& runs);

}  // namespace anemone::kernels::reference
