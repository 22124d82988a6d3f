// SPDX-License-Identifier: Apache-2.0
#include "values/fit.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace anemone::values {
namespace {

// A new sample is the mean of these samples along one axis, with these weights.
struct Window {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Gives the windows of `to` new samples. Together they stand for the part of `from` samples that
// begins at `begin` and is `length` long.
std::vector<Window> windows(std::int64_t from, double begin, double length, std::int64_t to) {
  std::vector<Window> out(static_cast<std::size_t>(to));
  const double step = length / static_cast<double>(to);
  const double reach = std::max(step, 1.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double center = begin + (static_cast<double>(i) + 0.5) * step;
    const auto place = [&](double at) {
      return std::clamp(static_cast<std::int64_t>(std::floor(at)), std::int64_t{0}, from - 1);
    };
    out[i].first = place(center - reach);
    const std::int64_t last = place(center + reach);
    double sum = 0;
    for (std::int64_t at = out[i].first; at <= last; ++at) {
      const double distance = std::abs(static_cast<double>(at) + 0.5 - center) / reach;
      out[i].weights.push_back(static_cast<float>(std::max(0.0, 1.0 - distance)));
      sum += out[i].weights.back();
    }
    // The sample whose middle is nearest lies within reach, so that the sum is not 0.
    for (float& weight : out[i].weights) weight = static_cast<float>(weight / sum);
  }
  return out;
}

}  // namespace

Picture fitted(const Picture& picture, std::int64_t height, std::int64_t width) {
  const auto from_height = static_cast<double>(picture.height);
  const auto from_width = static_cast<double>(picture.width);
  const double scale =
      std::min(from_height / static_cast<double>(height), from_width / static_cast<double>(width));
  const double part_height = scale * static_cast<double>(height);
  const double part_width = scale * static_cast<double>(width);
  const std::vector<Window> rows =
      windows(picture.height, (from_height - part_height) / 2, part_height, height);
  const std::vector<Window> columns =
      windows(picture.width, (from_width - part_width) / 2, part_width, width);
  const auto channels = static_cast<std::size_t>(picture.channels);
  const std::size_t row_size = static_cast<std::size_t>(picture.width) * channels;
  Picture out{height, width, picture.channels, {}};
  out.samples.reserve(rows.size() * columns.size() * channels);
  std::vector<float> row(row_size);
  for (const Window& of_row : rows) {
    std::ranges::fill(row, 0.0F);
    for (std::size_t i = 0; i < of_row.weights.size(); ++i) {
      const std::size_t from = (static_cast<std::size_t>(of_row.first) + i) * row_size;
      for (std::size_t at = 0; at < row_size; ++at)
        row[at] += of_row.weights[i] * static_cast<float>(picture.samples[from + at]);
    }
    for (const Window& of_column : columns)
      for (std::size_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (std::size_t i = 0; i < of_column.weights.size(); ++i)
          sum += of_column.weights[i] *
                 row[(static_cast<std::size_t>(of_column.first) + i) * channels + c];
        out.samples.push_back(static_cast<std::uint8_t>(std::clamp(sum + 0.5F, 0.0F, 255.0F)));
      }
  }
  return out;
}

}  // namespace anemone::values
