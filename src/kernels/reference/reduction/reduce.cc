// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reduction/reduce.h"

#include "kernels/reference/reduction/accumulators.h"
#include "kernels/reference/reduction/reduction.h"

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

std::vector<KernelEntry> reduce_kernels() {
  return {{"reduce_l1_norm", reduce_with<L1Norm>}, {"reduce_l2_norm", reduce_with<L2Norm>},
          {"reduce_log_sum", reduce_with<LogSum>}, {"reduce_log_sum_exp", reduce_with<LogSumExp>},
          {"reduce_max", reduce_with<Maximum>},    {"reduce_mean", reduce_with<Mean>},
          {"reduce_min", reduce_with<Minimum>},    {"reduce_prod", reduce_with<Product>},
          {"reduce_sum", reduce_with<Sum>},        {"reduce_sum_square", reduce_with<SumSquare>}};
}

}  // namespace anemone::kernels::reference
