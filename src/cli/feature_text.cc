// SPDX-License-Identifier: Apache-2.0
#include "cli/feature_text.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "cli/shell_word.h"

namespace anemone::cli {
namespace {

using mlpackage::FeatureDescription;

std::string size_text(const mlpackage::DimensionRange& range) {
  if (range.lower == range.upper) return std::to_string(range.lower);
  return range.upper < 0 ? fmt::format("{}..", range.lower)
                         : fmt::format("{}..{}", range.lower, range.upper);
}

}  // namespace

Shape tensor_shape(const FeatureDescription& feature, const Shape& shape) {
  if (feature.kind != FeatureDescription::Kind::kImage || shape.size() != 2) return shape;
  return {1, mlpackage::image_channels(feature.color_space), shape[0], shape[1]};
}

std::string shape_text(const FeatureDescription& feature) {
  std::string out;
  const auto& flexibility = feature.flexibility;
  if (!flexibility.ranges.empty()) {
    if (feature.kind == FeatureDescription::Kind::kImage)
      out = fmt::format("[1, {}", mlpackage::image_channels(feature.color_space));
    for (const auto& range : flexibility.ranges)
      out += (out.empty() ? "[" : ", ") + size_text(range);
    return out + fmt::format("] default {}", to_string(tensor_shape(feature, feature.shape)));
  }
  if (flexibility.enumerated.empty())
    return feature.shape.empty() ? "" : to_string(tensor_shape(feature, feature.shape));
  for (const Shape& shape : flexibility.enumerated)
    out += (out.empty() ? "" : " or ") + to_string(tensor_shape(feature, shape));
  return out;
}

std::string_view color_name(FeatureDescription::ColorSpace color_space) {
  switch (color_space) {
    case FeatureDescription::ColorSpace::kGrayscale:
      return "gray";
    case FeatureDescription::ColorSpace::kRgb:
      return "rgb";
    case FeatureDescription::ColorSpace::kBgr:
      return "bgr";
    case FeatureDescription::ColorSpace::kGrayscaleFp16:
      return "gray fp16";
  }
  return "";
}

std::string type_text(const FeatureDescription& feature) {
  if (feature.kind == FeatureDescription::Kind::kImage)
    return fmt::format("image {}", color_name(feature.color_space));
  const bool is_array = feature.kind == FeatureDescription::Kind::kMultiArray ||
                        feature.kind == FeatureDescription::Kind::kState;
  return std::string(is_array ? dtype_name(feature.dtype) : mlpackage::kind_name(feature.kind));
}

std::vector<std::string> class_labels(const ir::Function& function, std::string_view output) {
  std::vector<std::string> out;
  for (const ir::Value* value : function.block->outputs) {
    if (value->name != output || value->producer == nullptr || value->producer->type != "classify")
      continue;
    const auto classes = value->producer->inputs.find("classes");
    if (classes == value->producer->inputs.end() || classes->second.empty()) continue;
    const ir::Literal* literal = ir::constant_of(classes->second.front());
    if (literal == nullptr) continue;
    for (const ir::Literal& item : literal->items()) {
      if (const auto text = item.as_text()) {
        out.emplace_back(*text);
        continue;
      }
      const auto number = item.to_tensor();
      const bool is_number = number.ok() && number->view().size() == 1;
      out.push_back(is_number ? std::to_string(element_as_int(number->view(), 0)) : "?");
    }
  }
  return out;
}

std::string example_command(const std::string& path, const mlpackage::Model& model,
                            const mlpackage::FunctionInterface& function) {
  std::string out = "anemone predict " + shell_word(path);
  if (function.name != model.default_function) out += " --function " + shell_word(function.name);
  constexpr std::size_t kMostNamed = 2;
  std::string named;
  std::size_t tensors = 0;
  for (const FeatureDescription& input : function.inputs) {
    if (input.is_optional) continue;
    const bool is_picture = input.kind == FeatureDescription::Kind::kImage &&
                            input.color_space != FeatureDescription::ColorSpace::kGrayscaleFp16;
    std::string flag =
        " --input " + shell_word(input.name + (is_picture ? "=FILE.png:fit" : "=zeros"));
    if (is_picture) {
      out += flag;
    } else {
      named += flag;
      ++tensors;
    }
  }
  return out + (tensors > kMostNamed ? " --fill zeros" : named);
}

}  // namespace anemone::cli
