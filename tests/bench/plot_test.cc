// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.h"

#include <cctype>
#include <gtest/gtest.h>
#include <vector>

namespace anemone::bench {
namespace {

// Whether every element that is opened is closed, and no text holds a '<' or '&' of its own.
bool is_well_formed(const std::string& text) {
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '&' && text.compare(i, 4, "&lt;") != 0 && text.compare(i, 4, "&gt;") != 0 &&
        text.compare(i, 5, "&amp;") != 0 && text.compare(i, 6, "&quot;") != 0)
      return false;
    if (text[i] != '<') continue;
    const std::size_t end = text.find('>', i);
    if (end == std::string::npos) return false;
    const std::string tag = text.substr(i + 1, end - i - 1);
    i = end;
    if (tag.starts_with("!")) continue;
    std::size_t length = tag[0] == '/' ? 1 : 0;
    while (length < tag.size() && std::isalnum(static_cast<unsigned char>(tag[length])) != 0)
      ++length;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1, length - 1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, length));
    }
  }
  return open.empty();
}

const std::vector<PlotSeries> kLines = {
    {"1 stream", {{0, 58}, {512, 57.5}, {2048, 55}}}, {"nothing", {}}, {"a < b & \"c\"", {{0, 0}}}};

TEST(Plot, ALineIsDrawnForEachSeriesThatHasPoints) {
  const std::string svg = plot_svg({"title", "x", "y"}, kLines);
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  std::size_t lines = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 2U);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("nothing"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Plot, IsAPictureWithoutAnyPoints) {
  const std::string svg = plot_svg({"", "", ""}, {});
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Plot, APageHoldsAllCharts) {
  const std::string chart = plot_svg({"title", "x", "y"}, kLines);
  const std::string page = plot_html("<page>", {chart, chart});
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(page.find("&lt;page&gt;"), std::string::npos);
  EXPECT_TRUE(
      is_well_formed(page.substr(page.find("<body>"), page.find("</html>") - page.find("<body>"))));
}

}  // namespace
}  // namespace anemone::bench
