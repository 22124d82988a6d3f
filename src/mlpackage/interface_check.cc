// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/interface_check.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/name_index.h"
#include "mlpackage/dtype_codes.h"

namespace anemone::mlpackage {
namespace {

using Kind = FeatureDescription::Kind;

bool is_in_range(std::int64_t size, const DimensionRange& range) {
  return size >= range.lower && (range.upper < 0 || size <= range.upper);
}

std::string range_text(const DimensionRange& range) {
  return range.upper < 0 ? fmt::format("the range of {} or more", range.lower)
                         : fmt::format("the range from {} to {}", range.lower, range.upper);
}

// The feature alone: the shapes it lists agree with each other.
Status check_shapes(const FeatureDescription& feature) {
  for (const std::int64_t size : feature.shape)
    if (size < 0)
      return corrupt("expected a default shape without negative sizes, got {}",
                     to_string(feature.shape));
  const Flexibility& flexibility = feature.flexibility;
  if (!flexibility.ranges.empty()) {
    if (flexibility.ranges.size() != feature.shape.size())
      return corrupt("expected a range for each of {} dimensions, got {}", feature.shape.size(),
                     flexibility.ranges.size());
    for (std::size_t i = 0; i < feature.shape.size(); ++i) {
      const DimensionRange& range = flexibility.ranges[i];
      if (range.lower < 0 || (range.upper >= 0 && range.upper < range.lower))
        return corrupt("expected a range from low to high, got {} to {} (dimension {})",
                       range.lower, range.upper, i);
      if (!is_in_range(feature.shape[i], range))
        return corrupt("expected a default size in {}, got {} (dimension {})", range_text(range),
                       feature.shape[i], i);
    }
  }
  if (!flexibility.enumerated.empty()) {
    for (const Shape& shape : flexibility.enumerated)
      if (shape.size() != feature.shape.size() || !is_static(shape))
        return corrupt("expected enumerated shapes of rank {}, got {}", feature.shape.size(),
                       to_string(shape));
    if (std::find(flexibility.enumerated.begin(), flexibility.enumerated.end(), feature.shape) ==
        flexibility.enumerated.end())
      return corrupt("expected the default shape {} among the enumerated ones",
                     to_string(feature.shape));
  }
  return {};
}

// Whether a dimension of the program that is fixed to `size` has that one size in the description,
// where it is dimension `axis`.
Status check_fixed_dimension(const FeatureDescription& feature, std::size_t axis,
                             std::int64_t size) {
  const auto differs = [&](const auto& got) {
    return corrupt(
        "expected size {} alone in dimension {} of the description, as in the program, got {}",
        size, axis, got);
  };
  if (feature.shape[axis] != size) return differs(feature.shape[axis]);
  if (!feature.flexibility.ranges.empty()) {
    const DimensionRange& range = feature.flexibility.ranges[axis];
    if (range.lower != size || range.upper != size) return differs(range_text(range));
  }
  for (const Shape& shape : feature.flexibility.enumerated)
    if (shape[axis] != size) return differs(shape[axis]);
  return {};
}

Status check_array(const FeatureDescription& feature, const ir::Type& type, bool is_output) {
  if (feature.dtype != type.dtype)
    return corrupt("expected {} as in the program, got {}", dtype_name(type.dtype),
                   dtype_name(feature.dtype));
  // Outputs may leave their shape open; a scalar is described as [1] or as nothing.
  if (feature.shape.empty() && (is_output || type.shape.empty())) return {};
  if (type.shape.empty()) {
    if (feature.shape == Shape{1} && feature.flexibility.is_fixed()) return {};
    return corrupt("expected shape [1] for a scalar of the program, got {}",
                   to_string(feature.shape));
  }
  if (feature.shape.size() != type.shape.size())
    return corrupt("expected rank {} as in the program ({}), got {}", type.shape.size(),
                   to_string(type), to_string(feature.shape));
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis)
    if (type.shape[axis] != kDynamic)
      ANEMONE_RETURN_IF_ERROR(check_fixed_dimension(feature, axis, type.shape[axis]));
  return {};
}

// Pixels are floats; coremltools also writes bytes for grayscale ones (grayscale_use_uint8).
Status check_image(const FeatureDescription& feature, const ir::Type& type, ir::Opset opset) {
  const bool may_be_bytes = feature.color_space == FeatureDescription::ColorSpace::kGrayscale &&
                            opset >= ir::Opset::kIOS17;
  const bool is_pixel = type.dtype == DType::kFp16 || type.dtype == DType::kFp32 ||
                        (may_be_bytes && type.dtype == DType::kUInt8);
  if (!type.is_tensor() || !is_pixel || type.shape.size() != 4)
    return corrupt("expected a float{} tensor of rank 4 behind an image, got {}",
                   may_be_bytes ? " or uint8" : "", to_string(type));
  const std::int64_t channels = image_channels(feature.color_space);
  if (type.shape[0] > 1 || (type.shape[1] != kDynamic && type.shape[1] != channels))
    return corrupt("expected [1, {}, height, width] for the image, got {}", channels,
                   to_string(type));
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (type.shape[axis + 2] != kDynamic)
      ANEMONE_RETURN_IF_ERROR(check_fixed_dimension(feature, axis, type.shape[axis + 2]));
  return {};
}

Status check_against_type(const FeatureDescription& feature, const ir::Type& type, bool is_output,
                          ir::Opset opset) {
  const bool is_scalar = type.is_tensor() && type.shape.empty();
  switch (feature.kind) {
    case Kind::kMultiArray:
      if (!type.is_tensor()) break;
      return check_array(feature, type, is_output);
    case Kind::kState:
      if (!type.is_state()) break;
      return check_array(feature, type, false);
    case Kind::kImage:
      return check_image(feature, type, opset);
    case Kind::kString:
      if (!is_scalar || type.dtype != DType::kString) break;
      return {};
    case Kind::kInt64:
      if (!is_scalar || !is_integer(type.dtype)) break;
      return {};
    case Kind::kDouble:
      if (!is_scalar || !is_float(type.dtype)) break;
      return {};
    case Kind::kDictionary:
      if (type.kind != ir::Type::Kind::kDictionary) break;
      if ((type.members[0].dtype == DType::kString) != feature.has_string_keys) break;
      return {};
  }
  return corrupt("expected a description of the program's type {}, got one of kind {}",
                 to_string(type), kind_name(feature.kind));
}

// Rules of the specification version, those of Core ML's interface validator.
Status check_version_rules(const FeatureDescription& feature, int version) {
  if (feature.kind == Kind::kState) {
    if (version < 9)
      return corrupt("expected specification version 9 for a state, got {}", version);
    if (feature.is_optional)
      return corrupt("expected a state that is required, got an optional one");
    if (!feature.flexibility.is_fixed() ||
        !std::holds_alternative<std::monostate>(feature.default_value))
      return corrupt("expected a state with one fixed shape and no default value");
    if (feature.dtype != DType::kFp16 && feature.dtype != DType::kInt8)
      return corrupt("expected a state of fp16 or int8, got {}", dtype_name(feature.dtype));
    return {};
  }
  const bool is_fp16_array = feature.kind == Kind::kMultiArray && feature.dtype == DType::kFp16;
  const bool is_fp16_image = feature.kind == Kind::kImage &&
                             feature.color_space == FeatureDescription::ColorSpace::kGrayscaleFp16;
  if ((is_fp16_array || is_fp16_image) && version < 7)
    return corrupt("expected specification version 7 for fp16, got {}", version);
  if (feature.kind == Kind::kMultiArray && feature.dtype == DType::kInt8 && version < 10)
    return corrupt("expected specification version 10 for int8, got {}", version);
  return {};
}

class FunctionCheck {
 public:
  FunctionCheck(const FunctionInterface& interface, const ir::Function& function, int version)
      : interface_(interface), function_(function), version_(version) {}

  Status run() {
    if (ir::specification_version(function_.opset) > version_)
      return corrupt("expected specification version {} for opset {}, got {}",
                     ir::specification_version(function_.opset), ir::opset_string(function_.opset),
                     version_);
    ANEMONE_RETURN_IF_ERROR(inputs());
    ANEMONE_RETURN_IF_ERROR(outputs());
    // Core ML refuses to load a model without a required input before version 9.
    if (version_ < 9 &&
        std::all_of(interface_.inputs.begin(), interface_.inputs.end(),
                    [](const FeatureDescription& feature) { return feature.is_optional; }))
      return corrupt("expected at least one required input, got none");
    return predictions();
  }

 private:
  Status inputs() {
    std::unordered_map<std::string_view, const ir::Value*> left;
    for (const ir::Value* input : function_.inputs)
      if (!left.emplace(input->name, input).second)
        return corrupt("expected inputs of different names in the program, got {} twice",
                       input->name);
    for (const auto* features : {&interface_.inputs, &interface_.states})
      for (const FeatureDescription& feature : *features) {
        const auto it = left.find(feature.name);
        if (it == left.end())
          return corrupt("expected each described input once in the program, got \"{}\"",
                         feature.name);
        ANEMONE_RETURN_IF_ERROR(
            check_feature(feature, it->second->type, false).with("input " + feature.name));
        left.erase(it);
      }
    for (const ir::Value* input : function_.inputs)
      if (left.contains(input->name))
        return corrupt("expected a description of the program's input \"{}\", got none",
                       input->name);
    return {};
  }

  Status outputs() {
    std::unordered_map<std::string_view, const ir::Value*> left;
    for (const ir::Value* output : function_.block->outputs)
      if (!left.emplace(output->name, output).second)
        return corrupt("expected outputs of different names in the program, got {} twice",
                       output->name);
    for (const FeatureDescription& feature : interface_.outputs) {
      const auto it = left.find(feature.name);
      if (it == left.end())
        return corrupt("expected each described output once in the program, got \"{}\"",
                       feature.name);
      if (feature.kind == Kind::kState) return corrupt("expected no state among the outputs");
      ANEMONE_RETURN_IF_ERROR(
          check_feature(feature, it->second->type, true).with("output " + feature.name));
      left.erase(it);
    }
    for (const ir::Value* output : function_.block->outputs)
      if (left.contains(output->name))
        return corrupt("expected a description of the program's output \"{}\", got none",
                       output->name);
    return {};
  }

  Status check_feature(const FeatureDescription& feature, const ir::Type& type,
                       bool is_output) const {
    if (feature.name.empty()) return corrupt("expected a feature name, got none");
    ANEMONE_RETURN_IF_ERROR(check_version_rules(feature, version_));
    // Image sizes are checked as shapes [height, width]; an open output shape has nothing to check.
    if (!(is_output && feature.shape.empty())) ANEMONE_RETURN_IF_ERROR(check_shapes(feature));
    return check_against_type(feature, type, is_output, function_.opset);
  }

  Status predictions() const {
    for (const std::string* name :
         {&interface_.predicted_feature_name, &interface_.predicted_probabilities_name})
      if (!name->empty() && interface_.output(*name) == nullptr)
        return corrupt("expected the predicted feature \"{}\" among the outputs", *name);
    return {};
  }

  const FunctionInterface& interface_;
  const ir::Function& function_;
  const int version_;
};

}  // namespace

Status check_interface(const Model& model, int specification_version) {
  if (model.functions.empty()) return corrupt("expected a function, got none");
  if (model.is_multifunction && specification_version < 9)
    return corrupt("expected specification version 9 for several functions, got {}",
                   specification_version);
  if (!model.is_multifunction && (model.functions.size() != 1 || model.functions[0].name != "main"))
    return corrupt("expected the one function \"main\", got {} functions, the first \"{}\"",
                   model.functions.size(), model.functions[0].name);
  std::unordered_set<std::string_view> names;
  const NameIndex functions(model.program.functions());
  for (const FunctionInterface& interface : model.functions) {
    if (!names.insert(interface.name).second)
      return corrupt("expected functions of different names, got \"{}\" twice", interface.name);
    ir::Function* const* function = functions.find(interface.name);
    if (function == nullptr)
      return corrupt("expected the program to hold the function \"{}\", got none", interface.name);
    ANEMONE_RETURN_IF_ERROR(FunctionCheck(interface, **function, specification_version)
                                .run()
                                .with("function " + interface.name));
  }
  for (const ir::Function* function : model.program.functions())
    if (!names.contains(function->name))
      return corrupt("expected a description of the function \"{}\", got none", function->name);
  if (!names.contains(model.default_function))
    return corrupt("expected the default function to be one of the functions, got \"{}\"",
                   model.default_function);
  return {};
}

}  // namespace anemone::mlpackage
