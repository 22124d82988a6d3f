// SPDX-License-Identifier: Apache-2.0
#include "engine/session/logit_row.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace anemone::engine {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Logits of a model: most are far below a few.
std::vector<float> random_logits(std::mt19937& engine, std::size_t count) {
  std::vector<float> logits(count);
  for (float& logit : logits) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<float>(engine() % 4096) / 4096 - 0.5F;
    logit = 6 * sum;
  }
  return logits;
}

// Sizes around those of vectors and stretches.
constexpr std::size_t kSizes[] = {1, 7, 8, 9, 255, 256, 257, 511, 512, 1000, 5003};

TEST(SoftmaxWeight, IsExpToTheLastBits) {
  // Seven terms leave 6e-9; each of their sums, and the reduction, rounds by up to 6e-8.
  constexpr double kTolerance = 2e-7;
  for (float x = 0; x > -87; x -= 0.0037F) {
    const double wanted = std::exp(static_cast<double>(x));
    ASSERT_NEAR(static_cast<double>(softmax_weight(x)) / wanted, 1, kTolerance) << x;
  }
  EXPECT_EQ(softmax_weight(0), 1);
  EXPECT_EQ(softmax_weight(-0.0F), 1);
}

TEST(SoftmaxWeight, IsNothingFarBelowAndForNan) {
  for (const float x :
       {-87.0F, -88.0F, -1e30F, -std::numeric_limits<float>::max(), -kInfinite, kNotANumber})
    EXPECT_EQ(softmax_weight(x), 0) << x;
}

TEST(LogitRow, KnowsTheFirstHighest) {
  std::mt19937 engine(3);
  LogitRow row;
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE(size);
    for (int round = 0; round < 20; ++round) {
      std::vector<float> logits(size);
      for (float& logit : logits) logit = static_cast<float>(engine() % 40) - 35;  // many equals
      row.set(logits);
      const auto highest = std::ranges::max_element(logits);
      EXPECT_EQ(row.highest(), *highest);
      EXPECT_EQ(row.first_highest(), highest - logits.begin());
      EXPECT_FALSE(row.has_nan());
      logits[engine() % size] = kNotANumber;
      row.set(logits);
      EXPECT_TRUE(row.has_nan());
    }
  }
}

TEST(LogitRow, TakesTheFirstLogitsOfAnotherRow) {
  std::mt19937 engine(6);
  LogitRow row;
  LogitRow some;
  LogitRow wanted;
  for (const std::size_t size : kSizes)
    for (const std::size_t count : {size, size - 1, size / 2, std::size_t{0}})
      for (const bool has_nan : {false, true}) {
        SCOPED_TRACE(fmt::format("{} of {}, {}", count, size, has_nan ? "NaN" : "numbers"));
        std::vector<float> logits = random_logits(engine, size);
        if (has_nan) logits[engine() % size] = kNotANumber;
        row.set(logits);
        some.set(row, count);
        wanted.set(std::span(logits).first(count));
        EXPECT_EQ(some.logits().data(), logits.data());
        EXPECT_EQ(some.logits().size(), count);
        EXPECT_EQ(some.has_nan(), wanted.has_nan());
        EXPECT_EQ(some.highest(), wanted.highest());
        for (const std::size_t stretches : {std::size_t{1}, std::size_t{2}, count})
          EXPECT_EQ(some.bound(stretches), wanted.bound(stretches));
        if (some.highest() > -kInfinite) {
          EXPECT_EQ(some.first_highest(), wanted.first_highest());
        }
      }
}

TEST(LogitRow, OfNothingOrInfinitiesHasNoHighest) {
  LogitRow row;
  row.set({});
  EXPECT_EQ(row.highest(), -kInfinite);
  const std::vector<float> low(300, -kInfinite);
  row.set(low);
  EXPECT_EQ(row.highest(), -kInfinite);
  EXPECT_FALSE(row.has_nan());
  std::vector<float> high = low;
  high[299] = kInfinite;
  row.set(high);
  EXPECT_EQ(row.highest(), kInfinite);
  EXPECT_EQ(row.first_highest(), 299);
}

TEST(LogitRow, FindsAllThatReachABound) {
  std::mt19937 engine(4);
  LogitRow row;
  std::vector<std::int32_t> ids;
  for (const std::size_t size : kSizes) {
    SCOPED_TRACE(size);
    const std::vector<float> logits = random_logits(engine, size);
    row.set(logits);
    std::vector<float> sorted = logits;
    std::ranges::sort(sorted, std::greater<>());
    for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{20}, size}) {
      const float bound = row.bound(count);
      if (count <= size) {
        EXPECT_LE(bound, sorted[count - 1]) << "at least so many reach it";
      }
      row.find(bound, ids);
      std::vector<std::int32_t> wanted;
      for (std::size_t i = 0; i < size; ++i)
        if (logits[i] >= bound) wanted.push_back(static_cast<std::int32_t>(i));
      EXPECT_EQ(ids, wanted);
    }
    // One stretch has one highest only, so nothing is known of the second.
    if (size > LogitRow::kStretch) {
      EXPECT_GT(row.bound(2), -kInfinite);
    }
    EXPECT_EQ(row.bound(size + 1), -kInfinite);
  }
}

TEST(LogitRow, SumsWeights) {
  std::mt19937 engine(5);
  LogitRow row;
  std::vector<double> sums;
  for (const std::size_t size : kSizes)
    for (const double temperature : {0.3, 1.0, 4.0}) {
      SCOPED_TRACE(size);
      std::vector<float> logits = random_logits(engine, size);
      if (size > 4) logits[3] = -kInfinite;
      row.set(logits);
      double wanted = 0;
      for (const float logit : logits)
        wanted += std::exp((static_cast<double>(logit) - static_cast<double>(row.highest())) /
                           temperature);
      // The weights have errors of 2e-7, of the product with 1 / temperature as many times more as
      // the exponent has, of which all that matters is below 20; the sums of a stretch have 6e-8
      // for each of 32 terms.
      EXPECT_NEAR(row.sum_weights(temperature, sums) / wanted, 1, 4e-6);
      double sum = 0;
      for (const double part : sums) sum += part;
      EXPECT_EQ(row.sum_weights(temperature, sums), sum);
      for (std::size_t i = 0; i < size; i += 5) {
        const auto id = static_cast<std::int32_t>(i);
        EXPECT_EQ(row.weight(id, temperature) == 0, std::isinf(logits[i]));
      }
    }
}

TEST(LogitRow, WeighsWithAnyTemperature) {
  const std::vector<float> logits = {3, 80, -70, std::numeric_limits<float>::lowest()};
  LogitRow row;
  row.set(logits);
  std::vector<double> sums;
  EXPECT_EQ(row.sum_weights(1e-300, sums), 1) << "the highest alone";
  EXPECT_EQ(row.sum_weights(std::numeric_limits<double>::denorm_min(), sums), 1);
  EXPECT_NEAR(row.sum_weights(1e300, sums), 4, 1e-6);
}

}  // namespace
}  // namespace anemone::engine
