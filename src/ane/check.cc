// SPDX-License-Identifier: Apache-2.0
#include "ane/check.h"

#include <algorithm>
#include <utility>

namespace anemone::ane {
namespace {

// The inputs whose flexibility is of one kind.
template <typename Predicate>
std::vector<FlexibleInput> inputs_with(const mlpackage::Model& model, const Predicate& predicate) {
  std::vector<FlexibleInput> out;
  for (const mlpackage::FunctionInterface& function : model.functions)
    for (const mlpackage::FeatureDescription& input : function.inputs)
      if (predicate(input.flexibility)) out.push_back({function.name, input.name});
  return out;
}

bool is_range(const mlpackage::Flexibility& flexibility) {
  return std::ranges::any_of(flexibility.ranges, [](const mlpackage::DimensionRange& range) {
    return range.lower != range.upper;
  });
}

bool is_list(const mlpackage::Flexibility& flexibility) {
  return flexibility.enumerated.size() > 1;
}

bool is_about_smallness(const Law& law) {
  return law.id == "tiny-function" || law.id == "small-package";
}

}  // namespace

std::vector<Finding> check(const Package& package, const CheckOptions& options) {
  std::vector<Finding> findings;
  for (const Law* law : laws()) {
    if (law->find == nullptr) continue;
    if (options.chip != nullptr && !law->generations.contains(options.chip->generation)) continue;
    const MeasuredLaw* measured =
        options.measured == nullptr ? nullptr : options.measured->of(*law);
    if (measured != nullptr && !measured->holds) continue;
    Severity severity = measured == nullptr ? law->severity : measured->severity;
    if (options.is_auxiliary && is_about_smallness(*law)) severity = Severity::kNote;
    law->find(package, [&](Place place, std::string found) {
      findings.push_back({law, std::move(place), std::move(found), severity});
    });
  }
  std::ranges::stable_sort(findings, {}, &Finding::severity);
  return findings;
}

CheckedPackage check_package(std::string name, const mlpackage::Model& model, std::int64_t layers,
                             const CheckOptions& options) {
  const Package package{.program = model.program,
                        .ranges = inputs_with(model, is_range),
                        .layers = layers,
                        .lists = inputs_with(model, is_list),
                        .needed_version = mlpackage::minimum_specification_version(model),
                        .target_version = options.target_version};
  std::vector<Finding> findings = check(package, options);
  std::vector<PlacedFunction> functions = place(package, findings);
  return {std::move(name), package.weight_bytes, std::move(findings), std::move(functions)};
}

}  // namespace anemone::ane
