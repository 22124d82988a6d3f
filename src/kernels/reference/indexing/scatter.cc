// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {

Status scatter_kernel(const KernelCall& call) {
  const Shape shape = call.input("data").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), shape.size()));
  ANEMONE_ASSIGN_OR_RETURN(
      const Runs runs, runs_on_axis(shape, call.input("indices"), static_cast<std::size_t>(axis), 0,
                                    indexing_of(call, "scatter_c4")));
  return scatter_runs(call, runs);
}

}  // namespace anemone::kernels::reference
