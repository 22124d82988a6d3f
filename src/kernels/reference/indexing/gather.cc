// SPDX-License-Identifier: Apache-2.0
// Elements or slices read at indices.
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {
namespace {

Status gather_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_on_axis(call, "x", "gather_c4"));
  gather_runs(call, runs);
  return {};
}

Status gather_along_axis_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_along_axis(call, "x", "gather_along_axis_c4"));
  gather_runs(call, runs);
  return {};
}

Status gather_nd_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_at_points(call, "x", "gather_nd_c4"));
  gather_runs(call, runs);
  return {};
}

}  // namespace

std::vector<KernelEntry> gather_kernels() {
  return {{"gather", gather_kernel},
          {"gather_along_axis", gather_along_axis_kernel},
          {"gather_nd", gather_nd_kernel}};
}

}  // namespace anemone::kernels::reference
