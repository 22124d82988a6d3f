// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {

Status gather_kernel(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), shape.size()));
  ANEMONE_ASSIGN_OR_RETURN(
      const Runs runs, runs_on_axis(shape, call.input("indices"), static_cast<std::size_t>(axis),
                                    static_cast<std::size_t>(call.integer("batch_dims", 0)),
                                    indexing_of(call, "gather_c4")));
  gather_runs(call, runs);
  return {};
}

}  // namespace anemone::kernels::reference
