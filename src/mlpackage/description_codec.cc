// SPDX-License-Identifier: Apache-2.0
#include "mlpackage/description_codec.h"

#include <algorithm>
#include <limits>
#include <simdjson.h>

#include "base/error.h"
#include "mlpackage/dtype_codes.h"
#include "mlpackage/proto/model.pb.h"

namespace anemone::mlpackage {
namespace {

Status check_text(std::string_view text, std::string_view what) {
  if (simdjson::validate_utf8(text.data(), text.size())) return {};
  return corrupt("expected {} in UTF-8, got other bytes", what);
}

std::int64_t clamped(std::uint64_t value) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
}

DimensionRange decode_range(const wire::SizeRange& range) {
  return {clamped(range.lower_bound()), range.upper_bound() < 0 ? -1 : range.upper_bound()};
}

void encode_range(const DimensionRange& range, wire::SizeRange& out) {
  out.set_lower_bound(static_cast<std::uint64_t>(range.lower));
  out.set_upper_bound(range.upper);
}

Status decode_array(const wire::ArrayType& array, FeatureDescription& out) {
  const auto dtype = dtype_of_array_code(array.data_type());
  if (!dtype) return corrupt("expected a known array data type, got code {}", array.data_type());
  out.dtype = *dtype;
  out.shape.assign(array.shape().begin(), array.shape().end());
  for (const auto& shape : array.enumerated_shapes().shapes())
    out.flexibility.enumerated.emplace_back(shape.shape().begin(), shape.shape().end());
  for (const wire::SizeRange& range : array.shape_range().size_ranges())
    out.flexibility.ranges.push_back(decode_range(range));
  switch (array.default_value_case()) {
    case wire::ArrayType::kIntDefaultValue:
      out.default_value = array.int_default_value();
      break;
    case wire::ArrayType::kFloatDefaultValue:
      out.default_value = array.float_default_value();
      break;
    case wire::ArrayType::kDoubleDefaultValue:
      out.default_value = array.double_default_value();
      break;
    case wire::ArrayType::DEFAULT_VALUE_NOT_SET:
      break;
  }
  return {};
}

Status encode_array(const FeatureDescription& feature, wire::ArrayType& out) {
  const auto code = array_code(feature.dtype);
  if (!code)
    return invalid_argument("expected an array of fp16, fp32, fp64, int8 or int32, got {}",
                            dtype_name(feature.dtype));
  out.set_data_type(*code);
  out.mutable_shape()->Add(feature.shape.begin(), feature.shape.end());
  for (const Shape& shape : feature.flexibility.enumerated)
    out.mutable_enumerated_shapes()->add_shapes()->mutable_shape()->Add(shape.begin(), shape.end());
  for (const DimensionRange& range : feature.flexibility.ranges)
    encode_range(range, *out.mutable_shape_range()->add_size_ranges());
  if (const auto* integer = std::get_if<std::int32_t>(&feature.default_value))
    out.set_int_default_value(*integer);
  if (const auto* number = std::get_if<float>(&feature.default_value))
    out.set_float_default_value(*number);
  if (const auto* number = std::get_if<double>(&feature.default_value))
    out.set_double_default_value(*number);
  return {};
}

Status decode_image(const wire::ImageType& image, FeatureDescription& out) {
  using enum FeatureDescription::ColorSpace;
  const auto color_space = static_cast<FeatureDescription::ColorSpace>(image.color_space());
  if (color_space != kGrayscale && color_space != kRgb && color_space != kBgr &&
      color_space != kGrayscaleFp16)
    return corrupt("expected a known image colour space, got code {}", image.color_space());
  out.color_space = color_space;
  out.shape = {image.height(), image.width()};
  for (const auto& size : image.enumerated_sizes().sizes())
    out.flexibility.enumerated.push_back({clamped(size.height()), clamped(size.width())});
  if (image.has_size_range())
    out.flexibility.ranges = {decode_range(image.size_range().height_range()),
                              decode_range(image.size_range().width_range())};
  return {};
}

Status encode_image(const FeatureDescription& feature, wire::ImageType& out) {
  if (feature.shape.size() != 2)
    return invalid_argument("expected an image as [height, width], got {}",
                            to_string(feature.shape));
  out.set_height(feature.shape[0]);
  out.set_width(feature.shape[1]);
  out.set_color_space(static_cast<std::int32_t>(feature.color_space));
  for (const Shape& size : feature.flexibility.enumerated) {
    if (size.size() != 2)
      return invalid_argument("expected image sizes as [height, width], got {}", to_string(size));
    auto* entry = out.mutable_enumerated_sizes()->add_sizes();
    entry->set_height(static_cast<std::uint64_t>(size[0]));
    entry->set_width(static_cast<std::uint64_t>(size[1]));
  }
  const auto& ranges = feature.flexibility.ranges;
  if (!ranges.empty() && ranges.size() != 2)
    return invalid_argument("expected image ranges for height and width, got {}", ranges.size());
  if (!ranges.empty()) {
    encode_range(ranges[0], *out.mutable_size_range()->mutable_height_range());
    encode_range(ranges[1], *out.mutable_size_range()->mutable_width_range());
  }
  return {};
}

Status decode_feature_type(const wire::FeatureType& type, FeatureDescription& out) {
  out.is_optional = type.is_optional();
  switch (type.type_case()) {
    case wire::FeatureType::kMultiArrayType:
      out.kind = FeatureDescription::Kind::kMultiArray;
      return decode_array(type.multi_array_type(), out);
    case wire::FeatureType::kStateType:
      out.kind = FeatureDescription::Kind::kState;
      return decode_array(type.state_type().array_type(), out);
    case wire::FeatureType::kImageType:
      out.kind = FeatureDescription::Kind::kImage;
      return decode_image(type.image_type(), out);
    case wire::FeatureType::kInt64Type:
      out.kind = FeatureDescription::Kind::kInt64;
      return {};
    case wire::FeatureType::kDoubleType:
      out.kind = FeatureDescription::Kind::kDouble;
      return {};
    case wire::FeatureType::kStringType:
      out.kind = FeatureDescription::Kind::kString;
      return {};
    case wire::FeatureType::kDictionaryType:
      out.kind = FeatureDescription::Kind::kDictionary;
      out.has_string_keys = !type.dictionary_type().has_int64_key_type();
      return {};
    case wire::FeatureType::kSequenceType:
      return unsupported(
          "expected an array, image, state, number, string or dictionary, "
          "got a sequence");
    case wire::FeatureType::TYPE_NOT_SET:
      break;
  }
  return corrupt("expected a feature type, got none");
}

Status encode_feature_type(const FeatureDescription& feature, wire::FeatureType& out) {
  out.set_is_optional(feature.is_optional);
  switch (feature.kind) {
    case FeatureDescription::Kind::kMultiArray:
      return encode_array(feature, *out.mutable_multi_array_type());
    case FeatureDescription::Kind::kState:
      return encode_array(feature, *out.mutable_state_type()->mutable_array_type());
    case FeatureDescription::Kind::kImage:
      return encode_image(feature, *out.mutable_image_type());
    case FeatureDescription::Kind::kInt64:
      out.mutable_int64_type();
      return {};
    case FeatureDescription::Kind::kDouble:
      out.mutable_double_type();
      return {};
    case FeatureDescription::Kind::kString:
      out.mutable_string_type();
      return {};
    case FeatureDescription::Kind::kDictionary:
      if (feature.has_string_keys) {
        out.mutable_dictionary_type()->mutable_string_key_type();
      } else {
        out.mutable_dictionary_type()->mutable_int64_key_type();
      }
      return {};
  }
  return internal_error("feature kind {}", static_cast<int>(feature.kind));
}

template <typename Features>
Status decode_features(const Features& features, std::vector<FeatureDescription>& out) {
  for (const wire::FeatureDescription& description : features) {
    FeatureDescription feature;
    ANEMONE_RETURN_IF_ERROR(check_text(description.name(), "a feature name"));
    feature.name = description.name();
    ANEMONE_RETURN_IF_ERROR(check_text(description.short_description(), "a feature description"));
    feature.description = description.short_description();
    ANEMONE_RETURN_IF_ERROR(
        decode_feature_type(description.type(), feature).with("feature " + feature.name));
    out.push_back(std::move(feature));
  }
  return {};
}

template <typename Add>
Status encode_features(const std::vector<FeatureDescription>& features, const Add& add) {
  for (const FeatureDescription& feature : features) {
    wire::FeatureDescription* out = add();
    out->set_name(feature.name);
    out->set_short_description(feature.description);
    ANEMONE_RETURN_IF_ERROR(
        encode_feature_type(feature, *out->mutable_type()).with("feature " + feature.name));
  }
  return {};
}

// ModelDescription and FunctionDescription have the same fields for this.
template <typename Description>
Status decode_interface(const Description& description, FunctionInterface& out) {
  ANEMONE_RETURN_IF_ERROR(decode_features(description.input(), out.inputs));
  ANEMONE_RETURN_IF_ERROR(decode_features(description.output(), out.outputs));
  ANEMONE_RETURN_IF_ERROR(decode_features(description.state(), out.states));
  // Core ML tolerates states among the inputs.
  const auto first_state = std::stable_partition(
      out.inputs.begin(), out.inputs.end(), [](const FeatureDescription& feature) {
        return feature.kind != FeatureDescription::Kind::kState;
      });
  out.states.insert(out.states.end(), std::make_move_iterator(first_state),
                    std::make_move_iterator(out.inputs.end()));
  out.inputs.erase(first_state, out.inputs.end());
  out.predicted_feature_name = description.predicted_feature_name();
  out.predicted_probabilities_name = description.predicted_probabilities_name();
  return {};
}

template <typename Description>
Status encode_interface(const FunctionInterface& function, Description& out) {
  ANEMONE_RETURN_IF_ERROR(encode_features(function.inputs, [&] { return out.add_input(); }));
  ANEMONE_RETURN_IF_ERROR(encode_features(function.outputs, [&] { return out.add_output(); }));
  ANEMONE_RETURN_IF_ERROR(encode_features(function.states, [&] { return out.add_state(); }));
  out.set_predicted_feature_name(function.predicted_feature_name);
  out.set_predicted_probabilities_name(function.predicted_probabilities_name);
  return {};
}

Status decode_metadata(const wire::Metadata& metadata, Metadata& out) {
  for (const std::string* text : {&metadata.short_description(), &metadata.version(),
                                  &metadata.author(), &metadata.license()})
    ANEMONE_RETURN_IF_ERROR(check_text(*text, "metadata"));
  out.short_description = metadata.short_description();
  out.version = metadata.version();
  out.author = metadata.author();
  out.license = metadata.license();
  for (const auto& entry : metadata.user_defined()) {
    ANEMONE_RETURN_IF_ERROR(check_text(entry.key(), "metadata"));
    ANEMONE_RETURN_IF_ERROR(check_text(entry.value(), "metadata"));
    out.user_defined.insert_or_assign(entry.key(), entry.value());
  }
  return {};
}

}  // namespace

Status decode_description(const wire::ModelDescription& description, Model& model) {
  ANEMONE_RETURN_IF_ERROR(decode_metadata(description.metadata(), model.metadata));
  if (description.training_input_size() > 0)
    return unsupported("expected a model for prediction, got one that can be trained");
  model.is_multifunction = description.functions_size() > 0;
  if (!model.is_multifunction) {
    if (!description.default_function_name().empty() &&
        description.default_function_name() != "main")
      return corrupt("expected the default function \"{}\" to be described, got no functions",
                     description.default_function_name());
    model.default_function = "main";
    return decode_interface(description, model.functions.emplace_back());
  }
  if (description.input_size() + description.output_size() + description.state_size() > 0 ||
      !description.predicted_feature_name().empty() ||
      !description.predicted_probabilities_name().empty())
    return corrupt("expected features either for the model or for its functions, got both");
  model.default_function = description.default_function_name();
  for (const wire::FunctionDescription& function : description.functions()) {
    FunctionInterface& out = model.functions.emplace_back();
    ANEMONE_RETURN_IF_ERROR(check_text(function.name(), "a function name"));
    out.name = function.name();
    ANEMONE_RETURN_IF_ERROR(decode_interface(function, out).with("function " + out.name));
  }
  return {};
}

Status encode_description(const Model& model, const Metadata& metadata,
                          wire::ModelDescription& out) {
  wire::Metadata& texts = *out.mutable_metadata();
  texts.set_short_description(metadata.short_description);
  texts.set_version(metadata.version);
  texts.set_author(metadata.author);
  texts.set_license(metadata.license);
  for (const auto& [key, value] : metadata.user_defined) {
    auto* entry = texts.add_user_defined();
    entry->set_key(key);
    entry->set_value(value);
  }
  if (!model.is_multifunction) return encode_interface(model.functions.at(0), out);
  out.set_default_function_name(model.default_function);
  for (const FunctionInterface& function : model.functions) {
    auto* entry = out.add_functions();
    entry->set_name(function.name);
    ANEMONE_RETURN_IF_ERROR(encode_interface(function, *entry));
  }
  return {};
}

}  // namespace anemone::mlpackage
