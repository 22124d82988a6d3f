// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/model.h"

#include <algorithm>

#include "base/error.h"
#include "mlpackage/dtype_codes.h"

namespace anemone::mlpackage {
namespace {

const FeatureDescription* find(const std::vector<FeatureDescription>& features,
                               std::string_view name) {
  const auto it =
      std::find_if(features.begin(), features.end(),
                   [&](const FeatureDescription& feature) { return feature.name == name; });
  return it == features.end() ? nullptr : &*it;
}

Status check_array_dtype(const ir::Value& value) {
  if (value.type.kind == ir::Type::Kind::kTensor || value.type.is_state())
    if (array_code(value.type.dtype).has_value()) return {};
  return invalid_argument("[{}] expected a tensor of fp16, fp32, fp64, int8 or int32, got {}",
                          value.name, to_string(value.type));
}

}  // namespace

std::string_view kind_name(FeatureDescription::Kind kind) {
  switch (kind) {
    case FeatureDescription::Kind::kMultiArray:
      return "multi-array";
    case FeatureDescription::Kind::kImage:
      return "image";
    case FeatureDescription::Kind::kState:
      return "state";
    case FeatureDescription::Kind::kInt64:
      return "int64";
    case FeatureDescription::Kind::kDouble:
      return "double";
    case FeatureDescription::Kind::kString:
      return "string";
    case FeatureDescription::Kind::kDictionary:
      return "dictionary";
  }
  return "";
}

std::int64_t image_channels(FeatureDescription::ColorSpace color_space) {
  return color_space == FeatureDescription::ColorSpace::kRgb ||
                 color_space == FeatureDescription::ColorSpace::kBgr
             ? 3
             : 1;
}

const FeatureDescription* FunctionInterface::input(std::string_view feature_name) const {
  const FeatureDescription* feature = find(inputs, feature_name);
  return feature != nullptr ? feature : find(states, feature_name);
}

const FeatureDescription* FunctionInterface::output(std::string_view feature_name) const {
  return find(outputs, feature_name);
}

const FunctionInterface* Model::function(std::string_view name) const {
  const auto it = std::find_if(functions.begin(), functions.end(),
                               [&](const FunctionInterface& f) { return f.name == name; });
  return it == functions.end() ? nullptr : &*it;
}

Result<FunctionInterface> describe_function(const ir::Function& function,
                                            const std::map<std::string, FlexibleShape>& flexible) {
  FunctionInterface interface;
  interface.name = function.name;
  for (const ir::Value* input : function.inputs) {
    ANEMONE_RETURN_IF_ERROR(check_array_dtype(*input));
    FeatureDescription feature;
    feature.name = input->name;
    feature.dtype = input->type.dtype;
    feature.shape = input->type.shape;
    if (input->type.is_state()) {
      feature.kind = FeatureDescription::Kind::kState;
      interface.states.push_back(std::move(feature));
      continue;
    }
    if (feature.shape.empty()) feature.shape = {1};
    if (const auto it = flexible.find(input->name); it != flexible.end()) {
      feature.shape = it->second.default_shape;
      feature.flexibility = it->second.flexibility;
    } else if (!is_static(input->type.shape)) {
      return invalid_argument("[{}] expected the shapes that this input takes, got only {}",
                              input->name, to_string(input->type));
    }
    interface.inputs.push_back(std::move(feature));
  }
  for (const ir::Value* output : function.block->outputs) {
    ANEMONE_RETURN_IF_ERROR(check_array_dtype(*output));
    FeatureDescription feature;
    feature.name = output->name;
    feature.dtype = output->type.dtype;
    if (is_static(output->type.shape)) feature.shape = output->type.shape;
    interface.outputs.push_back(std::move(feature));
  }
  return interface;
}

int minimum_specification_version(const Model& model) {
  int version = model.is_multifunction ? 9 : 6;
  for (const ir::Function* function : model.program.functions())
    version = std::max(version, ir::specification_version(function->opset));
  for (const FunctionInterface& function : model.functions) {
    if (!function.states.empty() || function.inputs.empty()) version = std::max(version, 9);
    for (const auto* features : {&function.inputs, &function.outputs})
      for (const FeatureDescription& feature : *features) {
        const bool is_fp16 =
            feature.kind == FeatureDescription::Kind::kMultiArray
                ? feature.dtype == DType::kFp16
                : feature.kind == FeatureDescription::Kind::kImage &&
                      feature.color_space == FeatureDescription::ColorSpace::kGrayscaleFp16;
        if (is_fp16) version = std::max(version, 7);
        if (feature.kind == FeatureDescription::Kind::kMultiArray && feature.dtype == DType::kInt8)
          version = std::max(version, 10);
      }
  }
  return version;
}

}  // namespace anemone::mlpackage
