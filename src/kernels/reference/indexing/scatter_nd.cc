// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {

Status scatter_nd_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs,
                           runs_at_points(call.input("data").shape, call.input("indices"), 0,
                                          indexing_of(call, "scatter_nd_c4")));
  return scatter_runs(call, runs);
}

}  // namespace anemone::kernels::reference
