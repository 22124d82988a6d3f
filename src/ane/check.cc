// SPDX-License-Identifier: Apache-2.0
#include "ane/check.h"

#include <algorithm>
#include <utility>

namespace anemone::ane {
namespace {

std::vector<RangeInput> range_inputs(const mlpackage::Model& model) {
  const auto is_open = [](const mlpackage::DimensionRange& range) {
    return range.lower != range.upper;
  };
  std::vector<RangeInput> out;
  for (const mlpackage::FunctionInterface& function : model.functions)
    for (const mlpackage::FeatureDescription& input : function.inputs)
      if (std::ranges::any_of(input.flexibility.ranges, is_open))
        out.push_back({function.name, input.name});
  return out;
}

}  // namespace

std::vector<Finding> check(const Package& package) {
  std::vector<Finding> findings;
  for (const Rule& rule : rules())
    rule.find(package, [&](Place place, std::string found) {
      findings.push_back({&rule, std::move(place), std::move(found)});
    });
  return findings;
}

CheckedPackage check_package(std::string name, const mlpackage::Model& model, std::int64_t layers) {
  return {std::move(name), model.functions.size(),
          check({model.program, range_inputs(model), layers})};
}

}  // namespace anemone::ane
