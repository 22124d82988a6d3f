// SPDX-License-Identifier: Apache-2.0
#include "compiler/package_check.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace anemone::compiler {
namespace {

std::vector<ane::RangeInput> range_inputs(const mlpackage::Model& model) {
  const auto is_open = [](const mlpackage::DimensionRange& range) {
    return range.lower != range.upper;
  };
  std::vector<ane::RangeInput> out;
  for (const mlpackage::FunctionInterface& function : model.functions)
    for (const mlpackage::FeatureDescription& input : function.inputs)
      if (std::ranges::any_of(input.flexibility.ranges, is_open))
        out.push_back({function.name, input.name});
  return out;
}

}  // namespace

ane::CheckedPackage check_package(std::string name, const mlpackage::Model& model,
                                  std::int64_t layers) {
  return {std::move(name), model.functions.size(),
          ane::check({model.program, range_inputs(model), layers})};
}

}  // namespace anemone::compiler
