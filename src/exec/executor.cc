// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.h"

#include <algorithm>

#include "base/error.h"
#include "base/name_index.h"

namespace anemone::exec {
namespace {

const Feature* find(const std::vector<Feature>& features, std::string_view name) {
  for (const Feature& feature : features)
    if (feature.name == name) return &feature;
  return nullptr;
}

std::string describe(const Shape& shape, const std::vector<SizeRange>& ranges) {
  if (ranges.size() != shape.size()) return to_string(shape);
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    const SizeRange& range = ranges[i];
    if (shape[i] != kDynamic)
      out += std::to_string(shape[i]);
    else if (range.upper == SizeRange::kUnbounded)
      out += fmt::format("{}..", range.lower);
    else
      out += fmt::format("{}..{}", range.lower, range.upper);
  }
  return out + "]";
}

bool fits(const Feature& feature, const Shape& shape) {
  if (shape.size() != feature.shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) return false;
    if (feature.shape[i] != kDynamic && shape[i] != feature.shape[i]) return false;
    if (i < feature.size_ranges.size()) {
      const SizeRange& range = feature.size_ranges[i];
      if (shape[i] < range.lower) return false;
      if (range.upper != SizeRange::kUnbounded && shape[i] > range.upper) return false;
    }
  }
  return true;
}

}  // namespace

const Feature* Signature::input(std::string_view name) const {
  return find(inputs, name);
}
const Feature* Signature::output(std::string_view name) const {
  return find(outputs, name);
}
const Feature* Signature::state(std::string_view name) const {
  return find(states, name);
}

const Tensor* find_output(const Outputs& outputs, std::string_view name) {
  for (const NamedTensor& output : outputs)
    if (output.name == name) return &output.tensor;
  return nullptr;
}

Shape mask_shape(const Feature& feature, const StepFacts& facts) {
  Shape shape = feature.shape;
  std::ranges::replace(shape, kDynamic, facts.tokens);
  return shape;
}

Status check_shape(const Feature& feature, const Shape& shape) {
  if (!fits(feature, shape))
    return invalid_argument("[{}] expected shape {}, got {}", feature.name,
                            describe(feature.shape, feature.size_ranges), to_string(shape));
  if (feature.allowed_shapes.empty() ||
      std::find(feature.allowed_shapes.begin(), feature.allowed_shapes.end(), shape) !=
          feature.allowed_shapes.end())
    return {};
  constexpr std::size_t kShown = 6;
  std::string list;
  for (std::size_t i = 0; i < std::min(kShown, feature.allowed_shapes.size()); ++i)
    list += (i > 0 ? " or " : "") + to_string(feature.allowed_shapes[i]);
  if (feature.allowed_shapes.size() > kShown) list += " or others";
  return invalid_argument("[{}] expected shape {}, got {}", feature.name, list, to_string(shape));
}

Status check_inputs(const Signature& signature, const Inputs& inputs, const StepFacts* facts) {
  const NameIndex by_name(signature.inputs);
  const NameIndex given_by_name(inputs);
  for (const NamedView& given : inputs) {
    const Feature* feature = by_name.find(given.name);
    if (feature == nullptr)
      return invalid_argument("[{}] expected one of the inputs {}, got an unknown name", given.name,
                              names_of(signature.inputs));
    if (given_by_name.find(given.name) != &given || find_mask(facts, given.name) != nullptr)
      return invalid_argument("[{}] expected one value, got two", given.name);
    if (given.tensor.dtype != feature->dtype)
      return invalid_argument("[{}] expected {}, got {}", given.name, dtype_name(feature->dtype),
                              dtype_name(given.tensor.dtype));
    ANEMONE_RETURN_IF_ERROR(check_shape(*feature, given.tensor.shape));
  }
  if (facts != nullptr)
    for (const MaskFact& mask : facts->masks)
      if (by_name.find(mask.input) == nullptr)
        return invalid_argument("[{}] expected one of the inputs {}, got an unknown mask",
                                mask.input, names_of(signature.inputs));
  for (const Feature& feature : signature.inputs) {
    if (given_by_name.find(feature.name) != nullptr) continue;
    if (find_mask(facts, feature.name) != nullptr) {
      ANEMONE_RETURN_IF_ERROR(check_shape(feature, mask_shape(feature, *facts)));
      continue;
    }
    if (!feature.is_optional)
      return invalid_argument("[{}] expected a value of {} {}, got none", feature.name,
                              dtype_name(feature.dtype), to_string(feature.shape));
    if (!feature.default_value.has_value())
      return invalid_argument(
          "[{}] expected a value, got none (the input is optional but has no default)",
          feature.name);
  }
  return {};
}

Status LoadedProgram::run_batch(std::string_view function, std::span<const BatchItem> items) const {
  for (const BatchItem& item : items)
    ANEMONE_RETURN_IF_ERROR(run(function, *item.inputs, *item.outputs, item.states));
  return {};
}

std::vector<std::string> LoadedProgram::mask_inputs(std::string_view /*function*/) const {
  return {};
}

}  // namespace anemone::exec
