// SPDX-License-Identifier: Apache-2.0
#include "cli/predict_report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "cli/feature_text.h"
#include "values/picture.h"

namespace anemone::cli {
namespace {

using mlpackage::FeatureDescription;

constexpr std::size_t kShownValues = 8;
constexpr std::size_t kShownClasses = 5;
constexpr std::int64_t kMostJsonValues = std::int64_t{1} << 20;

struct Statistics {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::int64_t finite = 0;
  std::int64_t others = 0;
};

Statistics statistics_of(const TensorView& view) {
  Statistics out;
  for (std::int64_t i = 0; i < view.size(); ++i) {
    const double value = element_as_double(view, i);
    if (!std::isfinite(value)) {
      ++out.others;
      continue;
    }
    out.least = std::min(out.least, value);
    out.most = std::max(out.most, value);
    out.sum += value;
    ++out.finite;
  }
  return out;
}

std::string value_text(double value) {
  return fmt::format("{:.6g}", value);
}

// JSON has no infinity.
Json value_json(double value) {
  return std::isfinite(value) ? Json(value) : Json(value_text(value));
}

void add_classes(const TensorView& view, const std::vector<std::string>& labels, std::string& text,
                 Json& json) {
  std::vector<std::size_t> order(
      std::min(labels.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, view.size()))));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto probability = [&](std::size_t i) {
    const double value = element_as_double(view, static_cast<std::int64_t>(i));
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  const std::size_t shown = std::min(order.size(), kShownClasses);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const double left = probability(a);
                      const double right = probability(b);
                      return left != right ? left > right : a < b;
                    });
  std::vector<std::vector<std::string>> rows;
  json["classes"] = Json::array();
  for (std::size_t i = 0; i < shown; ++i) {
    const double value = element_as_double(view, static_cast<std::int64_t>(order[i]));
    rows.push_back({escaped(labels[order[i]]), value_text(value)});
    json["classes"].push_back({{"label", labels[order[i]]}, {"probability", value_json(value)}});
  }
  text += table(rows, "  ");
}

// Adds the label of the most probable class, if the package declares it as an output. Executors do
// not give that output, because it is a text and has no tensor.
void add_label(const std::string& label, const exec::Outputs& outputs,
               const mlpackage::FunctionInterface& described, Report& report) {
  const FeatureDescription* output = described.output(described.predicted_feature_name);
  if (output == nullptr || exec::find_output(outputs, output->name) != nullptr) return;
  const std::string_view kind = mlpackage::kind_name(output->kind);
  report.text += fmt::format("{}  {}  {}\n", escaped(output->name), kind, escaped(label));
  report.json["outputs"].push_back(
      {{"name", output->name}, {"dtype", kind}, {"values", Json::array({label})}});
}

}  // namespace

Report report_outputs(const exec::Outputs& outputs, const ir::Function& function,
                      const mlpackage::FunctionInterface& described) {
  Report out;
  out.json["outputs"] = Json::array();
  std::optional<std::string> label;
  for (const exec::NamedTensor& output : outputs) {
    const TensorView view = output.tensor.view();
    const Statistics numbers = statistics_of(view);
    const bool has_numbers = numbers.finite > 0;
    const double mean = has_numbers ? numbers.sum / static_cast<double>(numbers.finite) : 0;
    Json json = {{"name", output.name},
                 {"dtype", dtype_name(view.dtype)},
                 {"shape", view.shape},
                 {"min", has_numbers ? Json(numbers.least) : Json()},
                 {"max", has_numbers ? Json(numbers.most) : Json()},
                 {"mean", has_numbers ? Json(mean) : Json()},
                 {"not_finite", numbers.others},
                 {"values", Json::array()},
                 {"truncated", view.size() > kMostJsonValues}};
    out.text += fmt::format("{}  {} {}", escaped(output.name), dtype_name(view.dtype),
                            to_string(view.shape));
    if (has_numbers)
      out.text += fmt::format("  min {}, max {}, mean {}", value_text(numbers.least),
                              value_text(numbers.most), value_text(mean));
    if (numbers.others > 0) out.text += fmt::format("  {} not finite", numbers.others);
    out.text += "\n";
    std::string line = " ";
    const auto shown = std::min(view.size(), static_cast<std::int64_t>(kShownValues));
    for (std::int64_t i = 0; i < shown; ++i) line += " " + value_text(element_as_double(view, i));
    for (std::int64_t i = 0; i < std::min(view.size(), kMostJsonValues); ++i)
      json["values"].push_back(value_json(element_as_double(view, i)));
    if (view.size() > shown) line += " ...";
    if (const auto labels = class_labels(function, output.name); !labels.empty()) {
      add_classes(view, labels, out.text, json);
      if (!json["classes"].empty()) label = json["classes"][0]["label"].get<std::string>();
    } else if (shown > 0) {
      out.text += line + "\n";
    }
    out.json["outputs"].push_back(std::move(json));
  }
  if (label) add_label(*label, outputs, described, out);
  return out;
}

Result<OutputFile> output_file(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension.empty() || extension == ".safetensors") return OutputFile::kTensors;
  if (extension == ".npy") return OutputFile::kArray;
  if (extension == ".png") return OutputFile::kPicture;
  return invalid_argument("[{}] expected a name that ends with .safetensors, .npy or .png, got {}",
                          path, extension);
}

Result<std::string> picture_output(const mlpackage::FunctionInterface& function,
                                   const std::string& path) {
  std::vector<const FeatureDescription*> images;
  for (const FeatureDescription& output : function.outputs)
    if (output.kind == FeatureDescription::Kind::kImage &&
        output.color_space != FeatureDescription::ColorSpace::kGrayscaleFp16)
      images.push_back(&output);
  if (images.size() == 1) return images.front()->name;
  return invalid_argument(
      "[{}] expected a function with one image output, got {} (write a "
      ".safetensors file)",
      path, images.size());
}

Result<std::string> picture_bytes(const Tensor& output, const FeatureDescription& description) {
  const Shape& shape = output.shape();
  values::Picture picture;
  picture.channels = mlpackage::image_channels(description.color_space);
  if (shape.size() != 4 || shape[0] != 1 || shape[1] != picture.channels)
    return invalid_argument("[{}] expected shape [1, {}, height, width], got {}", description.name,
                            picture.channels, to_string(shape));
  picture.height = shape[2];
  picture.width = shape[3];
  const std::int64_t pixels = picture.height * picture.width;
  const bool is_reversed = description.color_space == FeatureDescription::ColorSpace::kBgr;
  picture.samples.reserve(static_cast<std::size_t>(pixels * picture.channels));
  for (std::int64_t i = 0; i < pixels; ++i)
    for (std::int64_t c = 0; c < picture.channels; ++c) {
      const std::int64_t from = is_reversed ? picture.channels - 1 - c : c;
      const double value = element_as_double(output.view(), from * pixels + i);
      // Not a number is black.
      picture.samples.push_back(
          value > 0 ? static_cast<std::uint8_t>(std::min(255.0, std::round(value))) : 0);
    }
  return values::png_bytes(picture);
}

}  // namespace anemone::cli
