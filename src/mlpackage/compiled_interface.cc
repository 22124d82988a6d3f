// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/compiled_interface.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/parse_number.h"

namespace anemone::mlpackage {
namespace {

using Kind = FeatureDescription::Kind;

// Sizes from a JSON text within the JSON: "[1, 4]".
Result<Shape> sizes_of(const Json& json, std::string_view subject) {
  Shape out;
  const auto wrong = [&] {
    return corrupt("[{}] expected a list of sizes, got another value", subject);
  };
  if (!json.is_array()) return wrong();
  for (const Json& size : json) {
    if (!size.is_number_integer()) return wrong();
    out.push_back(size.get<std::int64_t>());
  }
  return out;
}

class InputReader {
 public:
  InputReader(const Json& json, std::string_view subject, FeatureDescription& feature)
      : json_(json), subject_(subject), feature_(feature) {}

  Status read() {
    ANEMONE_ASSIGN_OR_RETURN(const std::string type, text("type"));
    ANEMONE_ASSIGN_OR_RETURN(const std::string optional, text("isOptional"));
    feature_.is_optional = optional == "1";
    if (type == "Image") return image();
    if (type != "MultiArray") return {};
    ANEMONE_ASSIGN_OR_RETURN(const std::string shape, text("shape"));
    if (!shape.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(const Json sizes, parse_json(shape, subject_));
      ANEMONE_ASSIGN_OR_RETURN(Shape described, sizes_of(sizes, subject_));
      // A scalar may be described by nothing.
      if (!described.empty()) feature_.shape = std::move(described);
    }
    return flexibility("shapeRange", "enumeratedShapes", false);
  }

 private:
  Result<std::string> text(const char* key) {
    ANEMONE_ASSIGN_OR_RETURN(const auto value, json_string(json_, key, subject_));
    return value.value_or("");
  }

  Result<std::int64_t> number(const char* key) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string digits, text(key));
    const auto value = parse_number<std::int64_t>(digits);
    if (!value)
      return corrupt("[{}] expected a whole number as the value of {}, got \"{}\"", subject_, key,
                     digits);
    return *value;
  }

  Status image() {
    using enum FeatureDescription::ColorSpace;
    ANEMONE_ASSIGN_OR_RETURN(const std::string color, text("colorspace"));
    if (color == "RGB")
      feature_.color_space = kRgb;
    else if (color == "BGR")
      feature_.color_space = kBgr;
    else if (color == "Grayscale")
      feature_.color_space = kGrayscale;
    else
      return {};  // still an array of the program
    feature_.kind = Kind::kImage;
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t height, number("height"));
    ANEMONE_ASSIGN_OR_RETURN(const std::int64_t width, number("width"));
    feature_.shape = {height, width};
    return flexibility("sizeRange", "enumeratedSizes", true);
  }

  // Sizes of images are written with the width first.
  Status flexibility(const char* range, const char* enumeration, bool is_reversed) {
    feature_.flexibility = {};
    ANEMONE_ASSIGN_OR_RETURN(const std::string ranges, text(range));
    ANEMONE_ASSIGN_OR_RETURN(const std::string shapes, text(enumeration));
    for (const std::string* list : {&ranges, &shapes}) {
      if (list->empty()) continue;
      ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(*list, subject_));
      if (!json.is_array())
        return corrupt("[{}] expected a list of lists, got {}", subject_, json.type_name());
      for (const Json& item : json) {
        ANEMONE_ASSIGN_OR_RETURN(Shape sizes, sizes_of(item, subject_));
        if (list == &shapes) {
          if (is_reversed) std::ranges::reverse(sizes);
          feature_.flexibility.enumerated.push_back(std::move(sizes));
        } else {
          if (sizes.size() != 2)
            return corrupt("[{}] expected a range of two sizes, got {}", subject_, sizes.size());
          feature_.flexibility.ranges.push_back({sizes[0], sizes[1] < 0 ? -1 : sizes[1]});
        }
      }
    }
    if (is_reversed) std::ranges::reverse(feature_.flexibility.ranges);
    return {};
  }

  const Json& json_;
  const std::string_view subject_;
  FeatureDescription& feature_;
};

}  // namespace

FunctionInterface interface_of(const ir::Function& function) {
  FunctionInterface out;
  out.name = function.name;
  for (const ir::Value* input : function.inputs) {
    FeatureDescription feature;
    feature.name = input->name;
    feature.dtype = input->type.dtype;
    feature.shape = input->type.shape;
    if (input->type.is_state()) {
      feature.kind = Kind::kState;
      out.states.push_back(std::move(feature));
      continue;
    }
    if (feature.shape.empty()) feature.shape = {1};
    if (!is_static(feature.shape)) {
      for (std::int64_t& size : feature.shape) {
        feature.flexibility.ranges.push_back(size == kDynamic ? DimensionRange{1, -1}
                                                              : DimensionRange{size, size});
        if (size == kDynamic) size = 1;
      }
    }
    out.inputs.push_back(std::move(feature));
  }
  for (const ir::Value* output : function.block->outputs) {
    const ir::Type& type = output->type;
    FeatureDescription feature;
    feature.name = output->name;
    feature.dtype = type.dtype;
    if (type.kind == ir::Type::Kind::kDictionary) {
      feature.kind = Kind::kDictionary;
      feature.has_string_keys = type.members[0].dtype == DType::kString;
      out.predicted_probabilities_name = output->name;
    } else if (type.dtype == DType::kString) {
      feature.kind = Kind::kString;
      out.predicted_feature_name = output->name;
    } else if (is_static(type.shape)) {
      feature.shape = type.shape;
    }
    out.outputs.push_back(std::move(feature));
  }
  return out;
}

Status add_metadata(std::string_view json_text, std::string_view subject,
                    FunctionInterface& interface) {
  ANEMONE_ASSIGN_OR_RETURN(const Json json, parse_json(json_text, subject));
  if (!json.is_array() || json.empty() || !json.front().is_object())
    return corrupt("[{}] expected a list with an object, got another value", subject);
  const Json* schema = json_member(json.front(), "inputSchema");
  if (schema == nullptr || !schema->is_array()) return {};
  for (const Json& input : *schema) {
    if (!input.is_object())
      return corrupt("[{}] expected an object for each input, got {}", subject, input.type_name());
    ANEMONE_ASSIGN_OR_RETURN(const auto name, json_string(input, "name", subject));
    for (FeatureDescription& feature : interface.inputs)
      if (feature.name == name)
        ANEMONE_RETURN_IF_ERROR(InputReader(input, subject, feature).read());
  }
  return {};
}

}  // namespace anemone::mlpackage
