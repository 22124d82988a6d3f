// SPDX-License-Identifier: Apache-2.0
// A line chart that needs nothing else to be looked at.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace anemone::bench {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // (x, y), x ascending; finite, not negative
};

struct PlotLabels {
  std::string title;
  std::string x;
  std::string y;
};

// An <svg> element; axes start at zero. Text is escaped. Series without points are left out; more
// than ten share colours.
std::string plot_svg(const PlotLabels& labels, const std::vector<PlotSeries>& series);

// A page with charts below each other.
std::string plot_html(const std::string& title, const std::vector<std::string>& charts);

}  // namespace anemone::bench
