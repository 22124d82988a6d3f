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
  // Attends, and compares all results with those in double.
  void expect_results(const AttentionHead& head, std::span<const AttentionRow> rows) const;
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

  // Shared by so many heads that sets with products of int16 use them.
  AttentionHead head(float factor = 1) const {
    return {keys.data(), values.data(), dim, factor, 256};
  }
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
          // A dimension that is much larger than the others, as keys of some models have it.
          if (dim >= 64)
            for (std::int64_t s = 0; s < kPositions; ++s)
              o.keys[static_cast<std::size_t>(s * dim + 9)] =
                  to_half(50 + to_float(o.values[static_cast<std::size_t>(s)]));
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
double norm(const Half* x, std::int64_t dim) {
  double squares = 0;
  for (std::int64_t d = 0; d < dim; ++d) squares += as_double(x[d]) * as_double(x[d]);
  return std::sqrt(squares);
}

// A row's result in double, and how far from it an instruction set may be.
class Expected {
 public:
  Expected(const AttentionHead& head, const AttentionRow& row, Isa isa)
      : head_(head), row_(row), isa_(isa) {
    const auto factor = static_cast<double>(head.factor);
    const double query_norm = norm(row.query, head.dim);
    total_ = row.sink == nullptr ? 0 : std::exp(static_cast<double>(*row.sink));
    for (std::int64_t s = row.begin; s < row.end; ++s) {
      const Half* const key = head.keys + s * head.dim;
      double score = 0;
      double value = 0;
      for (std::int64_t d = 0; d < head.dim; ++d) {
        score += as_double(row.query[d]) * factor * as_double(key[d]);
        value = std::max(value, std::abs(as_double(head.values[s * head.dim + d])));
      }
      largest_score_ = std::max(largest_score_, std::abs(score));
      norms_ = std::max(norms_, factor * query_norm * norm(key, head.dim));
      if (row.bias != nullptr) score += as_double(row.bias[s]);
      weights_.push_back(std::exp(score));
      total_ += weights_.back();
      largest_values_ += weights_.back() * value;
    }
  }

  double result(std::int64_t d) const {
    double sum = 0;
    for (std::int64_t s = row_.begin; s < row_.end; ++s) sum += weight(s) * value(s, d);
    return sum;
  }

  // The error of a score makes e^score wrong by a share of it, and the sum of the weights too.
  double tolerance(std::int64_t d) const {
    double magnitudes = 0;
    for (std::int64_t s = row_.begin; s < row_.end; ++s)
      magnitudes += weight(s) * std::abs(value(s, d));
    const auto dim = static_cast<double>(head_.dim);
    double share = 0;
    double error = 0;
    if (isa_ == Isa::kAmx) {
      // Products of bf16 in two parts leave out 2^-16: of a score and of the weights.
      share = (largest_score_ + 2) * 0x1p-16;
    } else if (isa_ == Isa::kAvx512Vnni || isa_ == Isa::kAvx512Vbmi) {
      // Integers are half a step off: those of a query, whose norm is 32704 steps; of a key, whose
      // norm is 2^14 steps at least, as is the largest number of a value; and of the weights, whose
      // sum is 32704 steps in a block of 64 positions. 2^x is right to 2^-18.
      share =
          norms_ * std::sqrt(dim) * (0.5 / 32704 + 0.5 / 16384) + (largest_score_ + 2) * 0x1p-18;
      const auto positions = static_cast<double>(std::min<std::int64_t>(64, row_.end - row_.begin));
      error = largest_values_ / total_ * (positions / 2 / 32704 + 0.5 / 16384);
    } else {
      // Sums are fp32.
      share = (largest_score_ + 1) * dim * 0x1p-23;
    }
    // The result is rounded to fp16.
    return std::abs(result(d)) * 0x1p-11 + 2 * magnitudes * share + error + 0x1p-24;
  }

 private:
  double weight(std::int64_t s) const {
    return weights_[static_cast<std::size_t>(s - row_.begin)] / total_;
  }
  double value(std::int64_t s, std::int64_t d) const {
    return as_double(head_.values[s * head_.dim + d]);
  }

  const AttentionHead& head_;
  const AttentionRow& row_;
  Isa isa_;
  std::vector<double> weights_;
  double total_ = 0;           // of the weights
  double largest_score_ = 0;   // magnitude
  double norms_ = 0;           // the largest product of those of the query, a key, and the factor
  double largest_values_ = 0;  // largest magnitudes of the values times the weights
};

void SimdAttention::expect_results(const AttentionHead& head,
                                   std::span<const AttentionRow> rows) const {
  attend(head, rows);
  for (const AttentionRow& row : rows) {
    const Expected expected(head, row, GetParam());
    for (std::int64_t d = 0; d < head.dim; ++d)
      ASSERT_NEAR(as_double(row.out[d]), expected.result(d), expected.tolerance(d))
          << rows.size() << " rows, dimension " << d << " of " << head.dim;
  }
}

TEST_P(SimdAttention, GivesTheSoftmaxOfTheScoresTimesTheValues) {
  RandomValues random(4);
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
          const AttentionHead head = o.head(0.3f);
          SCOPED_TRACE(positions);
          expect_results(head, rows);
        }
}

// Keys of some models have a dimension that is many times as large as the others, and values of the
// position that most weight goes to are next to nothing.
TEST_P(SimdAttention, LargeAndSmallNumbersDoNotHideEachOther) {
  RandomValues random(8);
  constexpr std::int64_t kDim = 64;
  constexpr std::int64_t kLargeDim = 5;
  constexpr std::int64_t kPlace = 100;
  for (const std::int64_t count : {1, 40}) {
    Operands o(random, kDim);
    for (std::int64_t d = 0; d < kDim; ++d) {
      // The first row gives this position about 0.8 of its weight.
      o.keys[static_cast<std::size_t>(kPlace * kDim + d)] =
          to_half(3 * to_float(o.queries[static_cast<std::size_t>(d)]));
      o.values[static_cast<std::size_t>(kPlace * kDim + d)] = to_half(d % 2 == 0 ? 1e-3f : -1e-3f);
    }
    for (std::int64_t s = 0; s < kPositions; ++s)
      o.keys[static_cast<std::size_t>(s * kDim + kLargeDim)] =
          to_half(240 - static_cast<float>(s) / 16);
    std::vector<AttentionRow> rows;
    for (std::int64_t r = 0; r < count; ++r) rows.push_back(o.row(r, 0, kPositions));
    const AttentionHead head = o.head(0.125f);
    expect_results(head, rows);
  }
}

// A key that is just below a power of 2, less what the first one has: as an integer of 16 bits it
// would be negative.
TEST_P(SimdAttention, NumbersBesideAPowerOf2KeepTheirSign) {
  RandomValues random(11);
  constexpr std::int64_t kDim = 64;
  for (const std::int64_t count : {1, 40}) {
    Operands o(random, kDim);
    std::ranges::fill(o.keys, Half{});
    o.keys[0] = to_half(0x1p-9f);
    for (std::int64_t s = 1; s < kPositions; s += 2)
      o.keys[static_cast<std::size_t>(s * kDim)] = to_half(128);
    std::vector<AttentionRow> rows;
    for (std::int64_t r = 0; r < count; ++r) rows.push_back(o.row(r, 0, 60));
    const AttentionHead head = o.head(0.05f);
    expect_results(head, rows);
  }
}

// An infinite key or value is no number of two parts, nor an integer times a factor. It is the
// matter of the rows that attend to it.
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
  // With AMX, rows beside those are computed without tiles, too.
  const double tolerance = GetParam() == Isa::kAmx ? 0x1p-10 : 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t d = 0; d < 64; ++d) {
      const double got = as_double(o.out[r * 64 + d]);
      if (rows[r].end <= kPlace)
        ASSERT_NEAR(got, as_double(finite[r * 64 + d]), tolerance) << "row " << r;
      else
        ASSERT_EQ(got, std::numeric_limits<double>::infinity()) << "row " << r;
    }
}

// Between what one row attends to and what another does, an earlier text may have left anything.
TEST_P(SimdAttention, WhatNoRowAttendsToDoesNotMatter) {
  RandomValues random(9);
  Operands o(random, 64);
  std::vector<AttentionRow> rows;
  std::vector<std::vector<Half>> alone;
  for (std::int64_t r = 0; r < 40; ++r) {
    rows.push_back(r % 2 == 0 ? o.row(r, 0, 40 + r % 3) : o.row(r, 70 + r % 5, 200));
    attend(o.head(), {&rows.back(), 1});
    alone.push_back(o.result(r));
  }
  for (const std::int64_t position : {43, 64, 69, 250})
    o.set_position(position, std::numeric_limits<float>::quiet_NaN(),
                   std::numeric_limits<float>::infinity());
  attend(o.head(), rows);
  for (std::int64_t r = 0; r < 40; ++r) {
    const std::vector<Half> result = o.result(r);
    if (GetParam() != Isa::kAmx) {
      ASSERT_TRUE(are_equal(result, alone[static_cast<std::size_t>(r)])) << "row " << r;
    }
    for (std::size_t d = 0; d < result.size(); ++d)
      ASSERT_NEAR(as_double(result[d]), as_double(alone[static_cast<std::size_t>(r)][d]), 0x1p-10);
  }
}

// Masks that are tensors hide positions by biases, down to that of a float that fp16 has not.
TEST_P(SimdAttention, LowBiasesHidePositions) {
  RandomValues random(10);
  Operands o(random, 64);
  for (const float low : {-9000.0f, -65504.0f, -std::numeric_limits<float>::infinity()})
    for (const std::int64_t count : {1, 40}) {
      std::vector<Half> bias(kPositions, to_half(low));
      std::fill_n(bias.data() + 10, 90, Half{});
      std::vector<AttentionRow> rows;
      for (std::int64_t r = 0; r < count; ++r) rows.push_back(o.row(r, 10, 100));
      attend(o.head(), rows);
      const std::vector<Half> expected = o.out;
      for (AttentionRow& row : rows) {
        row.begin = 0;
        row.end = kPositions;
        row.bias = bias.data();
      }
      attend(o.head(), rows);
      for (std::size_t i = 0; i < static_cast<std::size_t>(count * 64); ++i)
        ASSERT_NEAR(as_double(o.out[i]), as_double(expected[i]), 0x1p-10) << low;
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
