// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_values.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/ascii.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/feature_text.h"
#include "values/convert.h"
#include "values/fill.h"
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
    return invalid_argument("[{}] expected a gray picture, got one with colors", feature.name);
  const Shape shape = {1, channels, picture.height, picture.width};
  if (!exec::check_shape(feature, shape).ok())
    return invalid_argument("[{}] expected shape {}, got a picture of {} x {} pixels, {}",
                            feature.name, shape_text(description), picture.width, picture.height,
                            to_string(shape));
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

// The number after "random", nullopt for another word.
std::optional<std::uint64_t> random_seed(std::string_view value) {
  if (value == "random") return 0;
  constexpr std::string_view kPrefix = "random:";
  if (!value.starts_with(kPrefix)) return std::nullopt;
  value.remove_prefix(kPrefix.size());
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seed);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return seed;
}

// ".png", ".JPG": cameras write capitals.
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

Result<Tensor> input_tensor(const GivenValue& given, const exec::Feature& feature,
                            const FeatureDescription& description) {
  const std::string& value = given.value;
  const Shape usual = tensor_shape(description, description.shape);
  if (value == "zeros") return values::filled(feature.dtype, usual, 0, feature.name);
  if (value == "ones") return values::filled(feature.dtype, usual, 1, feature.name);
  if (const auto seed = random_seed(value))
    return values::random(feature.dtype, usual, *seed,
                          is_image(description) && description.color_space != kGrayscaleFp16,
                          feature.name);
  const std::string extension = std::filesystem::path(value).extension().string();
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
    ANEMONE_ASSIGN_OR_RETURN(const std::string bytes, read_file(value, kMostPictureBytes));
    ANEMONE_ASSIGN_OR_RETURN(const values::Picture picture, values::parse_picture(bytes, value));
    return picture_tensor(picture, feature, description);
  }
  const auto numbers = values::parse_numbers(value, feature.name);
  if (numbers.ok()) return fitted(*numbers, true, feature, description);
  // A text of numbers with a slip in it, or another word.
  if (value.find_first_not_of("0123456789+-.,eE ") == value.npos) return numbers.status();
  return invalid_argument(
      "[{}] expected FILE.npy, FILE.png, FILE.jpg, zeros, ones, random[:SEED] or numbers with "
      "commas, got {}",
      feature.name, value);
}

}  // namespace anemone::cli
