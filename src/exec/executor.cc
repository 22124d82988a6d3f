// SPDX-License-Identifier: Apache-2.0
#include "exec/executor.h"

#include <algorithm>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/cache_binding.h"

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

Shape greatest_shape(const Feature& feature) {
  Shape shape = feature.shape;
  for (std::size_t i = 0; i < std::min(shape.size(), feature.size_ranges.size()); ++i)
    if (shape[i] == kDynamic && feature.size_ranges[i].upper != SizeRange::kUnbounded)
      shape[i] = feature.size_ranges[i].upper;
  return shape;
}

Shape mask_shape(const Feature& feature, const MaskFact& mask, const StepFacts& facts) {
  Shape shape =
      mask.role == MaskFact::Role::kAttentionPastAndStep ? greatest_shape(feature) : feature.shape;
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

Status check_inputs(const Signature& signature, const Inputs& inputs) {
  return check_item(signature, BatchItem{.inputs = &inputs});
}

Status check_item(const Signature& signature, const BatchItem& item) {
  NameCursor inputs(signature.inputs);
  NameCursor outputs(signature.outputs);
  std::vector<bool> is_given(signature.inputs.size());
  // The input of that name, of which this is the first value.
  const auto take = [&](std::string_view name, std::string_view kind) -> Result<const Feature*> {
    const auto place = inputs.place(name);
    if (!place)
      return invalid_argument("[{}] expected one of the inputs {}, got an unknown {}", name,
                              names_of(signature.inputs), kind);
    if (is_given[*place]) return invalid_argument("[{}] expected one value, got two", name);
    is_given[*place] = true;
    return &signature.inputs[*place];
  };
  for (const NamedView& one : *item.inputs) {
    ANEMONE_ASSIGN_OR_RETURN(const Feature* feature, take(one.name, "name"));
    if (one.tensor.dtype != feature->dtype)
      return invalid_argument("[{}] expected {}, got {}", one.name, dtype_name(feature->dtype),
                              dtype_name(one.tensor.dtype));
    ANEMONE_RETURN_IF_ERROR(check_shape(*feature, one.tensor.shape));
  }
  if (item.facts != nullptr)
    for (const MaskFact& mask : item.facts->masks) {
      ANEMONE_ASSIGN_OR_RETURN(const Feature* feature, take(mask.input, "mask"));
      ANEMONE_RETURN_IF_ERROR(check_shape(*feature, mask_shape(*feature, mask, *item.facts)));
    }
  for (const CacheBinding& binding : item.caches) {
    ANEMONE_ASSIGN_OR_RETURN(const Feature* feature, take(binding.input, "cache"));
    ANEMONE_RETURN_IF_ERROR(check_binding(feature, outputs.find(binding.output), binding));
  }
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const Feature& feature = signature.inputs[i];
    if (is_given[i]) continue;
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

Status StateStore::edit(std::string_view name,
                        const std::function<void(const MutableTensorView&)>& edit) {
  ANEMONE_ASSIGN_OR_RETURN(Tensor copy, read(name));
  edit(copy.mutable_view());
  return write(name, copy.view());
}

Status LoadedProgram::run_batch(std::string_view function, std::span<const BatchItem> items) const {
  const Signature* found = signature(function.empty() ? default_function() : function);
  for (const BatchItem& item : items)
    for (const CacheBinding& binding : item.caches)
      if (found != nullptr) ANEMONE_RETURN_IF_ERROR(check_binding(*found, binding));
  for (const BatchItem& item : items) {
    const auto run_one = [&](const Inputs& inputs, Outputs& outputs) {
      return run(function, inputs, outputs, item.states);
    };
    ANEMONE_RETURN_IF_ERROR(item.caches.empty() || found == nullptr
                                ? run_one(*item.inputs, *item.outputs)
                                : run_with_tensors(item, item.caches, *found, run_one));
    if (items[0].meanwhile != nullptr) (*items[0].meanwhile)();
  }
  return {};
}

void LoadedProgram::for_each(std::size_t count,
                             const std::function<void(std::size_t)>& body) const {
  for (std::size_t i = 0; i < count; ++i) body(i);
}

std::vector<std::string> LoadedProgram::mask_inputs(std::string_view /*function*/) const {
  return {};
}

}  // namespace anemone::exec
