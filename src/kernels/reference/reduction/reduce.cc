// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/reduce.h"

namespace anemone::kernels::reference {

Result<ReductionPlan> plan_reduction(const KernelCall& call) {
  const Shape shape = call.input("x").shape;
  std::vector<bool> is_reduced(shape.size(), true);
  if (const auto axes = call.ints("axes")) {
    ANEMONE_ASSIGN_OR_RETURN(is_reduced, mark_axes(*axes, shape.size()));
  }
  const Strides strides = strides_of(shape);
  ReductionPlan plan;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (is_reduced[i] ? plan.reduced : plan.kept).push_back(shape[i]);
    (is_reduced[i] ? plan.reduced_strides : plan.kept_strides).push_back(strides[i]);
  }
  plan.count = element_count(plan.reduced);
  return plan;
}

}  // namespace anemone::kernels::reference
