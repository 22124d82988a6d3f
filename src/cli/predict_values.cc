// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_values.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "base/ascii.h"
#include "base/error.h"
#include "base/file.h"
#include "base/name_index.h"
#include "base/parse_number.h"
#include "cli/feature_text.h"
#include "values/convert.h"
#include "values/fill.h"
#include "values/fit.h"
#include "values/npy.h"
#include "values/numbers.h"
#include "values/picture.h"

namespace anemone::cli {
namespace {

using mlpackage::FeatureDescription;
using enum FeatureDescription::ColorSpace;

constexpr std::uint64_t kMostFileBytes = std::uint64_t{16} << 30;
constexpr std::uint64_t kMostPictureBytes = std::uint64_t{1} << 30;

bool is_image(const FeatureDescription& description) {
  return description.kind == FeatureDescription::Kind::kImage;
}

// The shape without the dimensions that have one element.
Shape without_ones(const Shape& shape) {
  Shape out;
  std::ranges::copy_if(shape, std::back_inserter(out), [](std::int64_t size) { return size != 1; });
  return out;
}

// Shapes of the input that have so many elements, the most probable first.
std::vector<Shape> shapes_of(const exec::Feature& feature, const Shape& usual,
                             std::int64_t elements) {
  std::vector<Shape> out;
  const auto add = [&](const Shape& shape) {
    const auto count = checked_element_count(shape);
    if (count.ok() && *count == elements && exec::check_shape(feature, shape).ok() &&
        std::ranges::find(out, shape) == out.end())
      out.push_back(shape);
  };
  add(usual);
  for (const Shape& shape : feature.allowed_shapes) add(shape);
  // One open dimension follows from the others.
  const auto open = std::ranges::find(feature.shape, kDynamic);
  if (open == feature.shape.end()) return out;
  Shape shape = feature.shape;
  shape[static_cast<std::size_t>(open - feature.shape.begin())] = 1;
  if (!is_static(shape)) return out;
  const auto others = checked_element_count(shape);
  if (!others.ok() || *others == 0 || elements % *others != 0) return out;
  shape[static_cast<std::size_t>(open - feature.shape.begin())] = elements / *others;
  add(shape);
  return out;
}

// Gives the values the shape and the type of the input.
Result<Tensor> fitted(const Tensor& values, bool is_list, const exec::Feature& feature,
                      const FeatureDescription& description) {
  const Shape& got = values.shape();
  std::optional<Shape> shape;
  if (exec::check_shape(feature, got).ok()) {
    shape = got;
  } else {
    const Shape usual = tensor_shape(description, description.shape);
    for (const Shape& each : shapes_of(feature, usual, values.view().size()))
      if (!shape && (is_list || without_ones(each) == without_ones(got))) shape = each;
  }
  if (!shape && is_list)
    return invalid_argument("[{}] expected numbers that fill shape {}, got {}", feature.name,
                            shape_text(description), values.view().size());
  if (!shape)
    return invalid_argument("[{}] expected shape {}, got {}", feature.name, shape_text(description),
                            to_string(got));
  TensorView view = values.view();
  view.shape = *shape;
  return values::convert(view, feature.dtype, feature.name);
}

// [1, channels, height, width] in the order of the input.
Result<Tensor> picture_tensor(const values::Picture& picture, const exec::Feature& feature,
                              const FeatureDescription& description) {
  const std::int64_t channels = mlpackage::image_channels(description.color_space);
  // A gray picture is one of equal colors; a colored one as gray would lose its colors.
  if (picture.channels > channels)
    return invalid_argument("[{}] expected a gray picture, got one with colors: convert it first",
                            feature.name);
  const Shape shape = {1, channels, picture.height, picture.width};
  if (!exec::check_shape(feature, shape).ok())
    return invalid_argument(
        "[{}] expected shape {}, got a picture of {} x {} pixels, {} (FILE.png:fit crops and "
        "scales it)",
        feature.name, shape_text(description), picture.width, picture.height, to_string(shape));
  Tensor out(DType::kUInt8, shape);
  const std::span<std::uint8_t> samples = out.mutable_view().as<std::uint8_t>();
  const auto pixels = static_cast<std::size_t>(picture.height * picture.width);
  const bool is_reversed = description.color_space == kBgr;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const std::size_t from = picture.channels == 1 ? 0 : is_reversed ? 2 - c : c;
    for (std::size_t i = 0; i < pixels; ++i)
      samples[c * pixels + i] =
          picture.samples[i * static_cast<std::size_t>(picture.channels) + from];
  }
  return values::convert(out.view(), feature.dtype, feature.name);
}

// Cuts off and returns the part of the text before the next `separator`, or all of it if there is
// none.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return part;
}

// Parses "1x8"; nullopt for a text that is no shape.
std::optional<Shape> parse_shape(std::string_view text) {
  constexpr std::size_t kMostDimensions = 32;
  if (text.empty() || text.ends_with('x')) return std::nullopt;
  Shape out;
  while (!text.empty()) {
    const auto size = parse_number<std::int64_t>(take_part(text, 'x'));
    if (!size || *size < 0 || out.size() == kMostDimensions) return std::nullopt;
    out.push_back(*size);
  }
  return out;
}

// A value that is made, not read: zeros, ones or random numbers.
struct MadeUp {
  std::string_view word;
  std::uint64_t seed = 0;
  std::optional<Shape> shape;
};

// Parses "zeros", "random:7:1x8" and the like; nullopt for another text.
std::optional<MadeUp> parse_made_up(std::string_view text) {
  if (text.ends_with(':')) return std::nullopt;
  MadeUp out{.word = take_part(text, ':'), .seed = 0, .shape = {}};
  if (out.word != "zeros" && out.word != "ones" && out.word != "random") return std::nullopt;
  if (out.word == "random" && !text.empty()) {
    std::string_view rest = text;
    if (const auto seed = parse_number<std::uint64_t>(take_part(rest, ':'))) {
      out.seed = *seed;
      text = rest;
    }
  }
  if (text.empty()) return out;
  out.shape = parse_shape(text);
  return out.shape ? std::optional(out) : std::nullopt;
}

Result<Tensor> made_up_tensor(const MadeUp& made_up, const exec::Feature& feature,
                              const FeatureDescription& description) {
  if (made_up.shape) ANEMONE_RETURN_IF_ERROR(exec::check_shape(feature, *made_up.shape));
  const Shape shape = made_up.shape ? *made_up.shape : tensor_shape(description, description.shape);
  if (made_up.word == "random")
    return values::random(feature.dtype, shape, made_up.seed,
                          is_image(description) && description.color_space != kGrayscaleFp16,
                          feature.name);
  return values::filled(feature.dtype, shape, made_up.word == "ones" ? 1 : 0, feature.name);
}

// Fits a picture of any size, also with transparent pixels, to the default size of an image input.
Result<values::Picture> fitted_picture(const std::string& bytes, const std::string& path,
                                       const exec::Feature& feature,
                                       const FeatureDescription& description) {
  ANEMONE_ASSIGN_OR_RETURN(const values::Picture picture,
                           values::parse_picture(bytes, path, values::Transparency::kOverWhite));
  const Shape& size = description.shape;
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > values::kMostPixels / size[1])
    return unsupported("[{}] expected an image input of 1 to {} pixels, got {}", feature.name,
                       values::kMostPixels, to_string(size));
  return values::fitted(picture, size[0], size[1]);
}

// True for ".png", ".jpg" and ".jpeg", also in capitals, which cameras write.
bool is_picture_name(std::string_view extension) {
  const std::string name = ascii_lower(extension);
  return name == ".png" || name == ".jpg" || name == ".jpeg";
}

}  // namespace

Result<GivenValue> parse_given_value(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    return invalid_argument("[--input] expected NAME=VALUE, got {}", text);
  return GivenValue{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<std::vector<GivenValue>> given_values(const std::vector<std::string>& texts) {
  std::vector<GivenValue> out;
  for (const std::string& text : texts) {
    ANEMONE_ASSIGN_OR_RETURN(GivenValue given, parse_given_value(text));
    if (std::ranges::find(out, given.name, &GivenValue::name) != out.end())
      return invalid_argument("[--input] expected one value for {}, got two", given.name);
    out.push_back(std::move(given));
  }
  return out;
}

void fill_others(std::string_view fill, const exec::Signature& signature,
                 const exec::Inputs& inputs, std::vector<GivenValue>& given) {
  std::set<std::string, std::less<>> known;
  for (const NamedView& input : inputs) known.emplace(input.name);
  for (const GivenValue& value : given) known.insert(value.name);
  for (const exec::Feature& feature : signature.inputs)
    if (!feature.is_optional && !known.contains(feature.name))
      given.push_back({feature.name, std::string(fill)});
}

Result<Tensor> input_tensor(const GivenValue& given, const exec::Feature& feature,
                            const FeatureDescription& description) {
  const std::string& value = given.value;
  if (const auto made_up = parse_made_up(value))
    return made_up_tensor(*made_up, feature, description);
  constexpr std::string_view kFit = ":fit";
  const bool is_fit = value.ends_with(kFit);
  const std::string path = is_fit ? value.substr(0, value.size() - kFit.size()) : value;
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".npy") {
    ANEMONE_ASSIGN_OR_RETURN(const std::string bytes, read_file(value, kMostFileBytes));
    ANEMONE_ASSIGN_OR_RETURN(const Tensor array, values::parse_npy(bytes, value));
    return fitted(array, false, feature, description);
  }
  if (is_picture_name(extension)) {
    if (!is_image(description) || description.color_space == kGrayscaleFp16)
      return invalid_argument(
          "[{}] expected numbers, a .npy file, zeros, ones or random for a tensor of {} {}, got a "
          "picture",
          feature.name, dtype_name(feature.dtype), shape_text(description));
    ANEMONE_ASSIGN_OR_RETURN(const std::string bytes, read_file(path, kMostPictureBytes));
    ANEMONE_ASSIGN_OR_RETURN(const values::Picture picture,
                             is_fit ? fitted_picture(bytes, path, feature, description)
                                    : values::parse_picture(bytes, path));
    return picture_tensor(picture, feature, description);
  }
  const auto numbers = values::parse_numbers(value, feature.name);
  if (numbers.ok()) return fitted(*numbers, true, feature, description);
  // A text of numbers with a slip in it, or another word.
  if (value.find_first_not_of("0123456789+-.,eE ") == value.npos) return numbers.status();
  return invalid_argument(
      "[{}] expected FILE.npy, FILE.png, FILE.jpg, zeros, ones, random[:SEED] or numbers with "
      "commas (a picture with :fit, a word with :SHAPE as in ones:1x8), got {}",
      feature.name, value);
}

bool has_default_shape(const GivenValue& given, const exec::Feature& feature) {
  const auto made_up = parse_made_up(given.value);
  return made_up && !made_up->shape &&
         (!is_static(feature.shape) || feature.allowed_shapes.size() > 1);
}

Status check_fill(std::string_view text) {
  const auto made_up = parse_made_up(text);
  if (made_up && !made_up->shape) return {};
  return invalid_argument("[--fill] expected zeros, ones or random[:SEED], got {}", text);
}

Result<Tensor> named_input_tensor(const GivenValue& given, const exec::Signature& signature,
                                  const mlpackage::FunctionInterface& interface) {
  const exec::Feature* feature = signature.input(given.name);
  const mlpackage::FeatureDescription* description = interface.input(given.name);
  if (feature == nullptr || description == nullptr)
    return invalid_argument("[--input] expected one of the inputs {}, got {}",
                            names_of(signature.inputs), given.name);
  return input_tensor(given, *feature, *description);
}

}  // namespace anemone::cli
