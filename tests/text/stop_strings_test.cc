// SPDX-License-Identifier: Apache-2.0
#include "text/stream/stop_strings.h"

#include <ctime>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace anemone::text {
namespace {

std::string letters(std::mt19937& random, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += random() % 3 == 0 ? 'b' : 'a';
  return text;
}

// What StopStrings has to give, by its definition: the text up to the stop string that is complete
// first, and of several that are complete at the same byte the longest. Sets `stop` to it; an empty
// stop string never counts.
std::string expected_text(const std::string& text, const std::vector<std::string>& stops,
                          std::string& stop) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    for (const std::string& candidate : stops)
      if (candidate.size() > stop.size() && text.substr(0, end).ends_with(candidate))
        stop = candidate;
    if (!stop.empty()) return text.substr(0, end - stop.size());
  }
  return text;
}

TEST(StopStrings, EndTheTextWhereOneIsCompleteFirst) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i)
      stops.push_back(letters(random, random() % 6));
    const std::string text = letters(random, random() % 40);
    StopStrings watch(stops);
    std::string shown;
    std::string stop;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t count = std::min<std::size_t>(random() % 4, text.size() - at);
      const auto outcome = watch.push(std::string_view(text).substr(at, count));
      shown += outcome.text;
      if (outcome.stop) stop = *outcome.stop;
      at += count;
    }
    shown += watch.finish();
    std::string expected_stop;
    EXPECT_EQ(shown, expected_text(text, stops, expected_stop)) << text;
    EXPECT_EQ(stop, expected_stop) << text;
  }
}

TEST(StopStrings, HoldBackNoMoreThanTheBeginningOfOne) {
  StopStrings watch({"</end>", "stop"});
  EXPECT_EQ(watch.push("a </en").text, "a ");
  EXPECT_EQ(watch.push("x st").text, "</enx ");
  EXPECT_EQ(watch.push("one").text, "stone");
  EXPECT_EQ(watch.push("<").text, "");
  EXPECT_EQ(watch.finish(), "<");
}

TEST(StopStrings, TakeTimeInProportionToTheText) {
  // To compare the text with every beginning of the stop string would take a minute.
  constexpr std::size_t kBytes = 3'000'000;
  const std::string run(kBytes, 'a');
  StopStrings watch({run + 'b'});
  const std::clock_t start = std::clock();
  EXPECT_EQ(watch.push(run + 'c').text.size(), kBytes + 1);
  EXPECT_EQ(watch.push(run + "aa").text.size(), 2U);
  for (int i = 0; i < 100'000; ++i) ASSERT_EQ(watch.push("a").text, "a");
  EXPECT_EQ(watch.push("b").stop, run + 'b');
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace anemone::text
