// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <string_view>

namespace anemone::bench {
namespace {

constexpr double kChartWidth = 720;
constexpr double kChartHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 44;
constexpr double kBottom = 56;
constexpr double kLegendLine = 18;
constexpr std::string_view kColours[] = {"#3366cc", "#dc3912", "#109618", "#990099", "#ff9900",
                                         "#0099c6", "#dd4477", "#66aa00", "#b82e2e", "#316395"};

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

// Round numbers from 0 to at least `most`: 1, 2 or 5 times a power of ten apart.
std::vector<double> ticks_to(double most) {
  if (!(most > 0)) most = 1;
  const double rough = most / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough) step = factor * power;
  std::vector<double> out;
  for (int i = 0; out.empty() || out.back() < most; ++i) out.push_back(step * i);
  return out;
}

struct Scale {
  double most, begin, end;
  double operator()(double value) const { return begin + value / most * (end - begin); }
};

}  // namespace

std::string plot_svg(const PlotLabels& labels, const std::vector<PlotSeries>& series) {
  double max_x = 0;
  double max_y = 0;
  std::size_t drawn = 0;
  for (const PlotSeries& line : series) {
    drawn += line.points.empty() ? 0 : 1;
    for (const auto& point : line.points) {
      max_x = std::max(max_x, point.first);
      max_y = std::max(max_y, point.second);
    }
  }
  const std::vector<double> x_ticks = ticks_to(max_x);
  const std::vector<double> y_ticks = ticks_to(max_y);
  const Scale x{x_ticks.back(), kLeft, kChartWidth - kRight};
  const Scale y{y_ticks.back(), kChartHeight - kBottom, kTop};
  const double height = kChartHeight + kLegendLine * static_cast<double>(drawn);

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{}\" y=\"24\" font-size=\"15\">{}</text>\n",
      kChartWidth, height, kChartWidth, height, kLeft, escaped_xml(labels.title));
  for (const double tick : x_ticks)
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#dddddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
        x(tick), y.end, y.begin, y.begin + 18, tick);
  for (const double tick : y_ticks)
    out += fmt::format(
        "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#dddddd\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
        x.begin, y(tick), x.end, x.begin - 8, y(tick) + 4, tick);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                     (x.begin + x.end) / 2, y.begin + 40, escaped_xml(labels.x));
  out += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (y.begin + y.end) / 2, escaped_xml(labels.y));

  std::size_t index = 0;
  for (const PlotSeries& line : series) {
    if (line.points.empty()) continue;
    const std::string_view colour = kColours[index % std::size(kColours)];
    std::string path;
    std::string dots;
    for (const auto& point : line.points) {
      path +=
          fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", x(point.first), y(point.second));
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>",
                          x(point.first), y(point.second), colour);
    }
    const double legend = kChartHeight + kLegendLine * static_cast<double>(index);
    out += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>{}\n"
        "<rect x=\"{}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>"
        "<text x=\"{}\" y=\"{:.1f}\">{}</text>\n",
        path, colour, dots, kLeft, legend - 6, colour, kLeft + 22, legend, escaped_xml(line.name));
    ++index;
  }
  return out + "</svg>\n";
}

std::string plot_html(const std::string& title, const std::vector<std::string>& charts) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta "
      "charset=\"utf-8\"/><title>{}</title></head>\n"
      "<body>\n",
      escaped_xml(title));
  for (const std::string& chart : charts) out += chart;
  return out + "</body>\n</html>\n";
}

}  // namespace anemone::bench
