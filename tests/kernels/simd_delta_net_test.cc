// SPDX-License-Identifier: Apache-2.0
// Gated delta nets on every instruction set of this machine, against the operations that they stand
// for one by one, to the bit.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "kernels/reference/linear/dot.h"
#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using testing::RandomValues;

float rounded(float x) {
  return to_float(to_half(x));
}

struct Head {
  Head(std::int64_t tokens_in, std::int64_t key_dim_in, std::int64_t value_dim_in, float range,
       std::uint32_t seed)
      : tokens(tokens_in), key_dim(key_dim_in), value_dim(value_dim_in) {
    RandomValues random(seed);
    queries = random.halves(tokens * key_dim);
    // About as long as keys are: longer ones let the state grow beyond fp16.
    keys = random.halves(tokens * key_dim, 1 / std::sqrt(static_cast<float>(key_dim)));
    values = random.halves(tokens * value_dim, range);
    strengths = random.halves(tokens);
    decays = random.halves(tokens);
    state = random.halves(key_dim * value_dim, range);
  }

  // By plain loops over the whole state. Gives what the tokens read.
  std::vector<Half> run_plainly(std::vector<Half>& s) const {
    const auto at = [](std::int64_t row, std::int64_t width, std::int64_t i) {
      return static_cast<std::size_t>(row * width + i);
    };
    std::vector<Half> out(values.size());
    std::vector<float> row(static_cast<std::size_t>(key_dim));
    std::vector<float> column(row.size());
    const auto product = [&](const std::vector<Half>& of, std::int64_t t, std::int64_t c) {
      for (std::int64_t r = 0; r < key_dim; ++r) {
        row[static_cast<std::size_t>(r)] = to_float(of[at(t, key_dim, r)]);
        column[static_cast<std::size_t>(r)] = to_float(s[at(r, value_dim, c)]);
      }
      return rounded(reference::dot(row.data(), column.data(), key_dim));
    };
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto token = static_cast<std::size_t>(t);
      for (Half& x : s) x = to_half(to_float(x) * to_float(decays[token]));
      for (std::int64_t c = 0; c < value_dim; ++c) {
        const float news = rounded(to_float(values[at(t, value_dim, c)]) - product(keys, t, c));
        const float written = rounded(news * to_float(strengths[token]));
        for (std::int64_t r = 0; r < key_dim; ++r) {
          Half& x = s[at(r, value_dim, c)];
          x = to_half(to_float(x) + rounded(to_float(keys[at(t, key_dim, r)]) * written));
        }
        out[at(t, value_dim, c)] = to_half(product(queries, t, c));
      }
    }
    return out;
  }

  DeltaNetHead view(std::vector<Half>& s, std::vector<Half>& out) const {
    DeltaNetHead head;
    head.queries = queries.data();
    head.keys = keys.data();
    head.values = values.data();
    head.strengths = strengths.data();
    head.decays = decays.data();
    head.state = s.data();
    head.out = out.data();
    head.tokens = tokens;
    head.key_dim = key_dim;
    head.value_dim = value_dim;
    return head;
  }

  std::int64_t tokens;
  std::int64_t key_dim;
  std::int64_t value_dim;
  std::vector<Half> queries, keys, values, strengths, decays, state;
};

std::vector<std::uint16_t> bits(const std::vector<Half>& values) {
  std::vector<std::uint16_t> out;
  for (const Half h : values) out.push_back(h.bits);
  return out;
}

class SimdDeltaNet : public ::testing::TestWithParam<Isa> {
 protected:
  // All columns, from `step` columns to the next.
  void run(const DeltaNetHead& head, std::int64_t step) const {
    std::vector<float> scratch(static_cast<std::size_t>(delta_net_scratch(head.key_dim)));
    for (std::int64_t begin = 0; begin < head.value_dim; begin += step)
      kernels_.run_delta_net(head, begin, std::min(begin + step, head.value_dim), scratch.data());
  }

  const Kernels& kernels_ = kernels_of(GetParam());
};

// Sizes around vectors and around the sums of a product; values from subnormal to overflowing ones.
TEST_P(SimdDeltaNet, GivesTheBitsOfPlainLoops) {
  std::uint32_t seed = 1;
  for (const std::int64_t key_dim : {1, 6, 8, 14, 16, 23, 25, 128})
    for (const std::int64_t value_dim : {1, 5, 16, 31, 33, 80})
      for (const std::int64_t tokens : {1, 2, 7})
        for (const float range : {1e-6f, 1.0f, 3000.0f}) {
          SCOPED_TRACE(std::to_string(key_dim) + "x" + std::to_string(value_dim) + ", " +
                       std::to_string(tokens) + " tokens");
          const Head head(tokens, key_dim, value_dim, range, seed++);
          std::vector<Half> expected_state = head.state;
          const std::vector<Half> expected = head.run_plainly(expected_state);
          std::vector<Half> state = head.state;
          std::vector<Half> out(expected.size());
          run(head.view(state, out), kDeltaNetColumns);
          ASSERT_EQ(bits(out), bits(expected));
          ASSERT_EQ(bits(state), bits(expected_state));
        }
}

// A column is the same in whatever range it is taken, and nothing beside the range is touched.
TEST_P(SimdDeltaNet, TakesAnyColumns) {
  const Head head(3, 20, 37, 1, 5);
  std::vector<Half> expected_state = head.state;
  const std::vector<Half> expected = head.run_plainly(expected_state);
  for (const std::int64_t step : {1, 7, 32}) {
    std::vector<Half> state = head.state;
    std::vector<Half> out(expected.size());
    run(head.view(state, out), step);
    EXPECT_EQ(bits(out), bits(expected)) << step;
    EXPECT_EQ(bits(state), bits(expected_state)) << step;
  }
}

TEST_P(SimdDeltaNet, MayWriteWhatTokensReadOverTheirValues) {
  Head head(4, 16, 24, 1, 6);
  std::vector<Half> expected_state = head.state;
  const std::vector<Half> expected = head.run_plainly(expected_state);
  std::vector<Half> state = head.state;
  DeltaNetHead view = head.view(state, head.values);
  run(view, kDeltaNetColumns);
  EXPECT_EQ(bits(head.values), bits(expected));
  EXPECT_EQ(bits(state), bits(expected_state));
}

// The recurrence in double precision from the same inputs.
struct Wide {
  explicit Wide(const Head& head) : out(head.values.size()), sizes(head.values.size()) {
    for (const Half h : head.state) state.push_back(to_float(h));
    const auto at = [](std::int64_t row, std::int64_t width, std::int64_t i) {
      return static_cast<std::size_t>(row * width + i);
    };
    for (std::int64_t t = 0; t < head.tokens; ++t) {
      const auto token = static_cast<std::size_t>(t);
      for (double& x : state) x *= to_float(head.decays[token]);
      for (std::int64_t c = 0; c < head.value_dim; ++c) {
        const std::size_t i = at(t, head.value_dim, c);
        double news = to_float(head.values[i]);
        for (std::int64_t r = 0; r < head.key_dim; ++r)
          news -= state[at(r, head.value_dim, c)] * to_float(head.keys[at(t, head.key_dim, r)]);
        for (std::int64_t r = 0; r < head.key_dim; ++r) {
          double& x = state[at(r, head.value_dim, c)];
          x += to_float(head.keys[at(t, head.key_dim, r)]) * news * to_float(head.strengths[token]);
          const double term = x * to_float(head.queries[at(t, head.key_dim, r)]);
          out[i] += term;
          sizes[i] += std::abs(term);
        }
      }
    }
  }
  std::vector<double> state, out;
  std::vector<double> sizes;  // what `out` is without the signs of its terms
};

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(x));
  return most;
}

// Each number is rounded to fp16 once, by 2^-11 of itself at most; the sums before are of fp32, of
// up to 128 terms of the state and 16 of the tokens before, and each is in the sums of the tokens
// after it: 2^-17 of the largest terms.
TEST_P(SimdDeltaNet, AChunkIsRoundedOnce) {
  std::uint32_t seed = 100;
  for (const std::int64_t key_dim : {1, 6, 8, 23, 128})
    for (const std::int64_t value_dim : {1, 16, 33, 80})
      for (const std::int64_t tokens : {1, 2, 7, 8, 9, 16}) {
        SCOPED_TRACE(std::to_string(key_dim) + "x" + std::to_string(value_dim) + ", " +
                     std::to_string(tokens) + " tokens");
        const Head head(tokens, key_dim, value_dim, 1, seed++);
        const Wide expected(head);
        std::vector<Half> state = head.state;
        std::vector<Half> out(expected.out.size());
        std::vector<float> scratch(static_cast<std::size_t>(delta_net_chunk_scratch(key_dim)));
        const std::int64_t middle = value_dim / 2;
        const DeltaNetHead view = head.view(state, out);
        kernels_.run_delta_net_chunk(view, 0, middle, scratch.data());
        kernels_.run_delta_net_chunk(view, middle, value_dim, scratch.data());
        const auto expect_rounded = [](const std::vector<Half>& got,
                                       const std::vector<double>& want, double terms) {
          for (std::size_t i = 0; i < want.size(); ++i)
            ASSERT_NEAR(to_float(got[i]), want[i], 0x1p-11 * std::abs(want[i]) + 0x1p-17 * terms)
                << i;
        };
        expect_rounded(out, expected.out, largest(expected.sizes));
        expect_rounded(state, expected.state, largest(expected.state));
      }
}

// What one step leaves, the next goes on from: the tokens may be parted anywhere.
TEST_P(SimdDeltaNet, GoesOnFromTheState) {
  const Head head(6, 16, 20, 1, 7);
  std::vector<Half> expected_state = head.state;
  const std::vector<Half> expected = head.run_plainly(expected_state);
  std::vector<Half> state = head.state;
  std::vector<Half> out(expected.size());
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 4}, {4, 6}}) {
    DeltaNetHead part = head.view(state, out);
    part.queries += begin * head.key_dim;
    part.keys += begin * head.key_dim;
    part.values += begin * head.value_dim;
    part.strengths += begin;
    part.decays += begin;
    part.out += begin * head.value_dim;
    part.tokens = end - begin;
    run(part, kDeltaNetColumns);
  }
  EXPECT_EQ(bits(out), bits(expected));
  EXPECT_EQ(bits(state), bits(expected_state));
}

INSTANTIATE_TEST_SUITE_P(, SimdDeltaNet, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
