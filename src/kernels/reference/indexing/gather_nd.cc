// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {

Status gather_nd_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs,
                           runs_at_points(call.input("x").shape, call.input("indices"),
                                          static_cast<std::size_t>(call.integer("batch_dims", 0)),
                                          indexing_of(call, "gather_nd_c4")));
  gather_runs(call, runs);
  return {};
}

}  // namespace anemone::kernels::reference
