// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/norm/groups.h"
#include "kernels/reference/norm/norm.h"

namespace anemone::kernels::reference {

Status layer_norm_kernel(const KernelCall& call) {
  const std::size_t rank = call.input("x").shape.size();
  std::vector<bool> axes(rank, true);
  if (const auto given = call.ints("axes")) {
    ANEMONE_ASSIGN_OR_RETURN(axes, mark_axes(*given, rank));
  }
  const std::vector<float> gamma = optional_floats(call, "gamma");
  const std::vector<float> beta = optional_floats(call, "beta");
  const auto epsilon = static_cast<float>(call.number("epsilon", 1e-5));
  transform_groups(call, axes, [&](std::span<float> values, std::int64_t) {
    standardize(values, epsilon);
    scale_and_shift(values, gamma, beta);
  });
  return {};
}

}  // namespace anemone::kernels::reference
