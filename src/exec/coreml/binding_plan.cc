// SPDX-License-Identifier: Apache-2.0
#include "exec/coreml/binding_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/name_index.h"
#include "exec/coreml/arrays.h"

namespace anemone::exec::coreml {
namespace {

bool is_supported(DType dtype) {
  return dtype == DType::kFp16 || dtype == DType::kFp32 || dtype == DType::kFp64 ||
         dtype == DType::kInt8 || dtype == DType::kInt32;
}

// The shape of a feature, with kDynamic where it takes more than one length.
Shape open_shape(const FeatureInfo& info) {
  Shape out = info.shape;
  for (std::size_t i = 0; i < std::min(out.size(), info.size_ranges.size()); ++i)
    if (info.size_ranges[i].lower != info.size_ranges[i].upper) out[i] = kDynamic;
  for (const Shape& allowed : info.allowed_shapes)
    for (std::size_t i = 0; i < std::min(out.size(), allowed.size()); ++i)
      if (allowed[i] != info.shape[i]) out[i] = kDynamic;
  return out;
}

Result<Feature> feature_of(const FeatureInfo& info) {
  if (!is_supported(info.dtype))
    return unsupported("[{}] expected fp16, fp32, fp64, int8 or int32, got {}", info.name,
                       dtype_name(info.dtype));
  return Feature{.name = info.name,
                 .dtype = info.dtype,
                 .shape = open_shape(info),
                 .size_ranges = info.size_ranges,
                 .allowed_shapes = info.allowed_shapes,
                 .is_optional = false,
                 .default_value = {},
                 .default_shape = {}};
}

Status add_features(const std::vector<FeatureInfo>& infos, std::vector<Feature>& out) {
  for (const FeatureInfo& info : infos) {
    ANEMONE_ASSIGN_OR_RETURN(Feature feature, feature_of(info));
    out.push_back(std::move(feature));
  }
  return {};
}

// The positions of a cache that a function takes, where they lie: the first ones. If the step
// begins after all of these, they are the last ones before the step (CacheBinding::Kind::kAppend).
Array past_of(const CacheBinding& binding, const Shape& taken) {
  Array out = array_of(binding.cache->view());
  const std::int64_t begin = std::max<std::int64_t>(binding.position - taken[2], 0);
  const auto offset = static_cast<std::size_t>(begin * out.strides[2] * dtype_bits(out.dtype) / 8);
  out.shape = taken;
  out.data += offset;
  out.bytes -= offset;
  return out;
}

PlannedInput plan_input(const FeatureInfo& feature, Array source) {
  PlannedInput out{.feature = &feature, .owner = Owner::kCaller, .source = {}, .need = {}};
  out.need = need_of(feature, source.shape);
  if (!has_row_bytes(source, feature.row_bytes)) out.owner = Owner::kStaging;
  out.source = std::move(source);
  return out;
}

PlannedOutput plan_output(const FeatureInfo& feature, const CacheBinding* binding) {
  PlannedOutput out{.feature = &feature, .binding = binding, .shape = {}, .need = {}};
  if (binding != nullptr)
    out.use = binding->kind == CacheBinding::Kind::kAppend ? PlannedOutput::Use::kAppend
                                                           : PlannedOutput::Use::kReplace;
  const bool is_known = !feature.shape.empty() && is_static(open_shape(feature));
  if (out.use == PlannedOutput::Use::kReplace)
    out.shape = binding->cache->shape();
  else if (is_known)
    out.shape = feature.shape;
  else
    return out;
  out.need = need_of(feature, out.shape);
  const bool is_dense = out.need.strides == strides_of(out.shape);
  out.owner = is_dense && out.use != PlannedOutput::Use::kAppend ? Owner::kCaller : Owner::kStaging;
  return out;
}

}  // namespace

Result<Signature> signature_of(const ModelInfo& info) {
  Signature out;
  ANEMONE_RETURN_IF_ERROR(add_features(info.inputs, out.inputs));
  ANEMONE_RETURN_IF_ERROR(add_features(info.outputs, out.outputs));
  ANEMONE_RETURN_IF_ERROR(add_features(info.states, out.states));
  return out;
}

BufferNeed need_of(const FeatureInfo& feature, const Shape& shape) {
  return {padded_strides(feature.dtype, shape, feature.row_bytes),
          padded_bytes(feature.dtype, shape, feature.row_bytes)};
}

Result<BindingPlan> plan_bindings(const ModelInfo& info, const BatchItem& item) {
  if (item.facts != nullptr && !item.facts->masks.empty())
    return invalid_argument("[{}] expected a mask tensor, got step facts",
                            item.facts->masks[0].input);
  BindingPlan out;
  const NameIndex tensors(*item.inputs);
  const auto binding_of = [&](std::string_view name, std::string_view CacheBinding::*field) {
    const auto found = std::ranges::find(item.caches, name, field);
    return found == item.caches.end() ? nullptr : &*found;
  };
  for (const FeatureInfo& feature : info.inputs) {
    if (const NamedView* tensor = tensors.find(feature.name))
      out.inputs.push_back(plan_input(feature, array_of(tensor->tensor)));
    else if (const CacheBinding* binding = binding_of(feature.name, &CacheBinding::input))
      out.inputs.push_back(
          plan_input(feature, binding->kind == CacheBinding::Kind::kAppend
                                  ? past_of(*binding, taken_shape(open_shape(feature), *binding))
                                  : array_of(binding->cache->view())));
  }
  for (const FeatureInfo& feature : info.outputs)
    out.outputs.push_back(plan_output(feature, binding_of(feature.name, &CacheBinding::output)));
  return out;
}

}  // namespace anemone::exec::coreml
