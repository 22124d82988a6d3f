// SPDX-License-Identifier: Apache-2.0
#include "ops/common/schema.h"

namespace anemone::ops {

Status add_output(std::vector<ir::Type>& outputs, DType dtype, Shape shape) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
  Shape least = shape;
  for (std::int64_t& dim : least)
    if (dim == kDynamic) dim = 1;
  const Result<std::int64_t> count = checked_element_count(least);
  if (!count.ok() || *count > kMaxElements)
    return corrupt("expected an output of at most 2^40 elements, got {}", to_string(shape));
  outputs.push_back(ir::Type::tensor(dtype, std::move(shape)));
  return {};
}

}  // namespace anemone::ops
