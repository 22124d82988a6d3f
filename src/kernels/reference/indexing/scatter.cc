// SPDX-License-Identifier: Apache-2.0
// Elements or slices combined with updates at indices.
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {
namespace {

Status scatter_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_on_axis(call, "data", "scatter_c4"));
  return scatter_runs(call, runs);
}

Status scatter_along_axis_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_along_axis(call, "data", "scatter_along_axis_c4"));
  return scatter_runs(call, runs);
}

Status scatter_nd_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs, runs_at_points(call, "data", "scatter_nd_c4"));
  return scatter_runs(call, runs);
}

}  // namespace

std::vector<KernelEntry> scatter_kernels() {
  return {{"scatter", scatter_kernel, "data"},
          {"scatter_along_axis", scatter_along_axis_kernel, "data"},
          {"scatter_nd", scatter_nd_kernel, "data"}};
}

}  // namespace anemone::kernels::reference
