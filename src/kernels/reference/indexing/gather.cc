// SPDX-License-Identifier: Apache-2.0
// Elements or slices read at indices.
#include "kernels/reference/indexing/indexing.h"
#include "kernels/reference/indexing/runs.h"

namespace anemone::kernels::reference {
namespace {

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

Status gather_along_axis_kernel(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  ANEMONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                           normalize_axis(call.integer("axis", 0), shape.size()));
  ANEMONE_ASSIGN_OR_RETURN(
      const Runs runs, runs_along_axis(shape, call.input("indices"), static_cast<std::size_t>(axis),
                                       indexing_of(call, "gather_along_axis_c4")));
  gather_runs(call, runs);
  return {};
}

Status gather_nd_kernel(const KernelCall& call) {
  ANEMONE_ASSIGN_OR_RETURN(const Runs runs,
                           runs_at_points(call.input("x").shape, call.input("indices"),
                                          static_cast<std::size_t>(call.integer("batch_dims", 0)),
                                          indexing_of(call, "gather_nd_c4")));
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
