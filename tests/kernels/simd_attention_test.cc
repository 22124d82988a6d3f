// SPDX-License-Identifier: Apache-2.0
// A row of an attention has the same bits alone and among others, on every instruction set of this
// machine.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <span>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;

class SimdAttention : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());

  void attend(const AttentionHead& head, std::span<const AttentionRow> rows) const {
    const auto count = static_cast<std::int64_t>(rows.size());
    std::vector<float> scratch(static_cast<std::size_t>(attend_scratch(count, head.dim)));
    kernels_.attend(head, rows.data(), count, scratch.data());
  }
};

constexpr std::int64_t kPositions = 700;
constexpr std::int64_t kRows = 270;

// Queries, keys and values of one head, and where the results go.
struct Operands {
  Operands(RandomValues& random, std::int64_t dims)
      : dim(dims),
        queries(random.halves(kRows * dim)),
        keys(random.halves(kPositions * dim, 2.0f)),
        values(random.halves(kPositions * dim)),
        out(queries.size()) {}

  AttentionHead head(float factor = 1) const { return {keys.data(), values.data(), dim, factor}; }
  AttentionRow row(std::int64_t r, std::int64_t begin, std::int64_t end) {
    return {queries.data() + r * dim, out.data() + r * dim, begin, end};
  }
  // The result of a row, for comparisons.
  std::vector<Half> result(std::int64_t r) const {
    return {out.data() + r * dim, out.data() + (r + 1) * dim};
  }
  void set_position(std::int64_t position, float key, float value) {
    std::fill_n(keys.data() + position * dim, dim, to_half(key));
    std::fill_n(values.data() + position * dim, dim, to_half(value));
  }

  std::int64_t dim;
  std::vector<Half> queries, keys, values, out;
};

bool are_equal(const std::vector<Half>& a, const std::vector<Half>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(Half)) == 0;
}

TEST_P(SimdAttention, RowsGiveTheSameBitsInAnyCompany) {
  RandomValues random(7);
  const auto sinks = random.floats(kRows);
  const auto bias = random.halves(kPositions);
  for (const std::int64_t dim : {8, 20, 64, 80, 96})
    for (const bool has_sinks : {false, true})
      for (const bool has_bias : {false, true})
        for (const std::int64_t window : {1, 40, 1000}) {
          Operands o(random, dim);
          // What no row attends to, such as what an earlier text left behind, does not matter.
          for (const std::int64_t position : {std::int64_t{0}, kPositions - 1})
            o.set_position(position, std::numeric_limits<float>::quiet_NaN(),
                           std::numeric_limits<float>::infinity());
          std::vector<AttentionRow> rows;
          std::vector<std::vector<Half>> alone;
          for (std::int64_t r = 0; r < kRows; ++r) {
            const std::int64_t end = 2 + r * (kPositions - 3) / (kRows - 1);
            AttentionRow row = o.row(r, std::max<std::int64_t>(1, end - window), end);
            if (has_sinks) row.sink = &sinks[static_cast<std::size_t>(r)];
            if (has_bias) row.bias = bias.data();
            attend(o.head(), {&row, 1});
            alone.push_back(o.result(r));
            rows.push_back(row);
          }
          for (const std::size_t count : std::array<std::size_t, 15>{
                   2, 7, 15, 16, 17, 31, 32, 33, 48, 64, 65, 70, 129, 257, 270}) {
            std::ranges::fill(o.out, Half{});
            attend(o.head(), {rows.data(), count});
            for (std::size_t r = 0; r < count; ++r)
              ASSERT_TRUE(are_equal(o.result(static_cast<std::int64_t>(r)), alone[r]))
                  << "row " << r << " of " << count << ", dimensions " << dim << ", window "
                  << window;
          }
          // Rows that share their positions.
          for (const std::int64_t count : {2, 3, 8, 20}) {
            std::vector<AttentionRow> same;
            alone.clear();
            for (std::int64_t r = 0; r < count; ++r) {
              same.push_back(o.row(r, 5, 507));
              attend(o.head(), {&same.back(), 1});
              alone.push_back(o.result(r));
            }
            std::ranges::fill(o.out, Half{});
            attend(o.head(), same);
            for (std::int64_t r = 0; r < count; ++r)
              ASSERT_TRUE(are_equal(o.result(r), alone[static_cast<std::size_t>(r)]));
          }
        }
}

double as_double(Half h) {
  return static_cast<double>(to_float(h));
}

TEST_P(SimdAttention, GivesTheSoftmaxOfTheScoresTimesTheValues) {
  RandomValues random(4);
  constexpr float kFactor = 0.3f;
  for (const std::int64_t dim : {8, 64, 80})
    for (const std::int64_t positions : {1, 5, 16, 33, 130, 600})
      for (const std::int64_t count : {1, 7, 40})
        for (const bool has_more : {false, true}) {  // a bias and a sink
          constexpr std::int64_t kBegin = 3;
          Operands o(random, dim);
          const auto bias = random.halves(kPositions, 2.0f);
          const float sink = 2;
          std::vector<AttentionRow> rows;
          for (std::int64_t r = 0; r < count; ++r) {
            rows.push_back(o.row(r, kBegin, kBegin + positions));
            if (has_more) rows.back().bias = bias.data();
            if (has_more) rows.back().sink = &sink;
          }
          attend(o.head(kFactor), rows);
          for (const AttentionRow& row : rows) {
            std::vector<double> weights;
            double total = has_more ? std::exp(static_cast<double>(sink)) : 0;
            double largest = 0;
            for (std::int64_t s = kBegin; s < row.end; ++s) {
              double score = 0;
              for (std::int64_t d = 0; d < dim; ++d)
                score += as_double(row.query[d]) * static_cast<double>(kFactor) *
                         as_double(o.keys[static_cast<std::size_t>(s * dim + d)]);
              largest = std::max(largest, std::abs(score));
              if (has_more) score += as_double(bias[static_cast<std::size_t>(s)]);
              weights.push_back(std::exp(score));
              total += weights.back();
            }
            for (std::int64_t d = 0; d < dim; ++d) {
              double expected = 0;
              double sum = 0;  // of magnitudes, of which rounding takes its share
              for (std::size_t s = 0; s < weights.size(); ++s) {
                const double part =
                    weights[s] / total *
                    as_double(o.values[(s + kBegin) * static_cast<std::size_t>(dim) +
                                       static_cast<std::size_t>(d)]);
                expected += part;
                sum += std::abs(part);
              }
              // The result is rounded to fp16. Sums are fp32, or products of bf16 in two parts
              // (amx), of which 2^-16 is left out: of a score, which e^x makes a share of the
              // result, and of the weights.
              const double share = GetParam() == Isa::kAmx
                                       ? (largest + 2) * 0x1p-16
                                       : (largest + 1) * static_cast<double>(dim) * 0x1p-23;
              ASSERT_NEAR(as_double(row.out[d]), expected,
                          std::abs(expected) * 0x1p-11 + 2 * sum * share + 0x1p-24)
                  << positions << " positions, " << count << " rows, dimensions " << dim;
            }
          }
        }
}

// An infinite key or value is no number of two parts. It is the matter of the rows that attend to
// it.
TEST_P(SimdAttention, InfiniteValuesStayWithTheRowsThatAttendToThem) {
  RandomValues random(5);
  Operands o(random, 64);
  constexpr std::int64_t kPlace = 300;
  std::vector<AttentionRow> rows;
  for (std::int64_t r = 0; r < 40; ++r) rows.push_back(o.row(r, 0, kPlace - 19 + r));
  attend(o.head(), rows);
  const std::vector<Half> finite = o.out;
  o.set_position(kPlace, 1, std::numeric_limits<float>::infinity());
  attend(o.head(), rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t d = 0; d < 64; ++d) {
      const double got = as_double(o.out[r * 64 + d]);
      if (rows[r].end <= kPlace)
        ASSERT_NEAR(got, as_double(finite[r * 64 + d]), 0x1p-10) << "row " << r;
      else
        ASSERT_EQ(got, std::numeric_limits<double>::infinity()) << "row " << r;
    }
}

// Neither does a row whose scores are NaN: the sums of the others are scaled to their tops all the
// same.
TEST_P(SimdAttention, NanStaysWithItsRow) {
  RandomValues random(6);
  Operands o(random, 64);
  std::vector<AttentionRow> rows;
  for (std::int64_t r = 0; r < 40; ++r) rows.push_back(o.row(r, 0, 500));
  attend(o.head(), rows);
  const std::vector<Half> finite = o.out;
  constexpr std::size_t kNan = 3;
  std::fill_n(o.queries.data() + kNan * 64, 64, to_half(std::numeric_limits<float>::quiet_NaN()));
  attend(o.head(), rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t d = 0; d < 64; ++d) {
      const double got = as_double(o.out[r * 64 + d]);
      if (r == kNan)
        ASSERT_TRUE(std::isnan(got)) << "row " << r;
      else
        ASSERT_NEAR(got, as_double(finite[r * 64 + d]), 0x1p-10) << "row " << r;
    }
}

INSTANTIATE_TEST_SUITE_P(, SimdAttention, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
