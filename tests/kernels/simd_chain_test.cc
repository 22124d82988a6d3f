// SPDX-License-Identifier: Apache-2.0
// Steps of elementwise chains on every instruction set of this machine, against double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "kernels/simd/kernels.h"
#include "tests/kernels/random_values.h"

namespace anemone::kernels::simd {
namespace {

using Inputs = std::vector<const Half*>;

class SimdChain : public ::testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels_ = kernels_of(GetParam());

  std::vector<Half> run(const std::vector<ChainStep>& steps, const std::vector<ChainInput>& forms,
                        const Inputs& inputs, std::int64_t count) {
    std::vector<Half> out(static_cast<std::size_t>(count) + 1, Half{0x1234});
    const Chain chain = {forms.data(), steps.data(), static_cast<std::int64_t>(steps.size())};
    kernels_.run_chain(chain, inputs.data(), 0, count, out.data());
    EXPECT_EQ(out.back().bits, 0x1234);
    out.pop_back();
    return out;
  }
  // One operation on all of x.
  std::vector<Half> map(ChainStep step, const std::vector<Half>& x) {
    const auto count = static_cast<std::int64_t>(x.size());
    return run({ChainStep{}, step}, {{1, count}}, {x.data()}, count);
  }
};

double exact(Half h) {
  return static_cast<double>(to_float(h));
}

// Every fp16 number.
std::vector<Half> all_halves() {
  std::vector<Half> out(65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits)
    out[bits] = Half{static_cast<std::uint16_t>(bits)};
  return out;
}

struct Function {
  const char* name;
  ChainStep step;
  std::function<double(double)> f;
};

ChainStep step_of(ChainOp op, float p = 0, float q = 0) {
  return {.op = op, .p = p, .q = q};
}

std::vector<Function> functions() {
  const double root_2 = std::sqrt(2.0);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {
      {"abs", step_of(ChainOp::kAbs), [](double x) { return std::abs(x); }},
      {"square", step_of(ChainOp::kSquare), [](double x) { return x * x; }},
      {"cube", step_of(ChainOp::kCube), [](double x) { return x * x * x; }},
      {"sqrt", step_of(ChainOp::kSqrt), [](double x) { return std::sqrt(x); }},
      {"rsqrt", step_of(ChainOp::kRsqrt, 0.5f), [](double x) { return 1 / std::sqrt(x + 0.5); }},
      {"inverse", step_of(ChainOp::kInverse), [](double x) { return 1 / (x + 0.0); }},
      {"exp", step_of(ChainOp::kExp), [](double x) { return std::exp(x); }},
      {"sigmoid", step_of(ChainOp::kSigmoid), sigmoid},
      {"silu", step_of(ChainOp::kSilu), [=](double x) { return x / (1 + std::exp(-x)); }},
      {"tanh", step_of(ChainOp::kTanh), [](double x) { return std::tanh(x); }},
      {"erf", step_of(ChainOp::kErf), [](double x) { return std::erf(x); }},
      {"gelu", step_of(ChainOp::kGelu), [=](double x) { return 0.5 * x * std::erfc(-x / root_2); }},
      {"gelu by tanh", step_of(ChainOp::kGeluTanh),
       [](double x) {
         const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
         return x / (1 + std::exp(-2 * u));
       }},
      {"gelu by sigmoid", step_of(ChainOp::kGeluSigmoid),
       [](double x) { return x / (1 + std::exp(-1.702 * x)); }},
      {"softplus", step_of(ChainOp::kSoftplus),
       [](double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x))); }},
      {"softsign", step_of(ChainOp::kSoftsign), [](double x) { return x / (1 + std::abs(x)); }},
      {"elu", step_of(ChainOp::kElu, 0.75f),
       [](double x) { return x > 0 ? x : 0.75 * std::expm1(x); }},
      {"leaky_relu", step_of(ChainOp::kLeakyRelu, 0.25f),
       [](double x) { return x < 0 ? 0.25 * x : x; }},
      {"clip", step_of(ChainOp::kClip, -0.5f, 6.0f),
       [](double x) { return x < -0.5 ? -0.5
                             : x > 6  ? 6
                                      : x; }},
      {"at least", step_of(ChainOp::kAtLeast, 0.0f), [](double x) { return x < 0 ? 0 : x; }},
      {"thresholded_relu", step_of(ChainOp::kThresholdedRelu, 0.5f),
       [](double x) { return x < 0.5 ? 0 : x; }},
      {"sigmoid_hard", step_of(ChainOp::kSigmoidHard, 0.25f, 0.5f),
       [](double x) {
         const double y = 0.25 * x + 0.5;
         return y < 0 ? 0 : y > 1 ? 1 : y;
       }},
  };
}

// Within half a unit of fp16 and a little, of every number there is; infinities and NaN where the
// formula has them.
TEST_P(SimdChain, FunctionsOfEveryHalf) {
  const auto x = all_halves();
  for (const Function& function : functions()) {
    const auto y = map(function.step, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = function.f(exact(x[i]));
      const double got = exact(y[i]);
      const std::string where =
          std::string(function.name) + " of " + std::to_string(exact(x[i])) + ": ";
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << where << got;
      } else if (std::abs(expected) >= 65520) {
        ASSERT_TRUE(std::isinf(got) && std::signbit(got) == std::signbit(expected))
            << where << got << ", expected " << expected;
      } else {
        ASSERT_NEAR(got, expected, std::abs(expected) * 0x1.01p-11 + 0x1.01p-25) << where;
      }
    }
  }
}

TEST_P(SimdChain, TwoOperandsAndConstants) {
  testing::RandomValues random(8);
  const std::pair<ChainOp, std::function<double(double, double)>> kPairs[] = {
      {ChainOp::kAdd, [](double a, double b) { return a + b; }},
      {ChainOp::kSub, [](double a, double b) { return a - b; }},
      {ChainOp::kMul, [](double a, double b) { return a * b; }},
      {ChainOp::kDiv, [](double a, double b) { return a / b; }},
      {ChainOp::kMaximum, [](double a, double b) { return a > b ? a : b; }},
      {ChainOp::kMinimum, [](double a, double b) { return a < b ? a : b; }}};
  for (const std::int64_t count : {1, 15, 512, 1100}) {
    const auto a = random.halves(count, 8.0f);
    const auto b = random.halves(count, 8.0f);
    const std::vector<ChainInput> forms = {{1, count}, {1, count}};
    for (const auto& [op, f] : kPairs)
      for (const int constant : {-1, 0, 1}) {
        ChainStep step = {.op = op, .out = 2, .a = 0, .b = 1};
        if (constant == 0) step.a = kChainConstant, step.p = 0.375f;
        if (constant == 1) step.b = kChainConstant, step.q = 0.375f;
        const auto y =
            run({{.out = 0, .a = 0}, {.out = 1, .a = 1}, step}, forms, {a.data(), b.data()}, count);
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double expected =
              f(constant == 0 ? 0.375 : exact(a[i]), constant == 1 ? 0.375 : exact(b[i]));
          ASSERT_NEAR(exact(y[i]), expected, std::abs(expected) * 0x1.01p-11 + 0x1.01p-25);
        }
      }
  }
}

TEST_P(SimdChain, NotANumberWinsOverNumbers) {
  const Half nan = to_half(std::numeric_limits<float>::quiet_NaN());
  const Half one = to_half(1.0f);
  const std::vector<Half> a = {nan, one, nan};
  const std::vector<Half> b = {one, nan, nan};
  for (const ChainOp op : {ChainOp::kMaximum, ChainOp::kMinimum}) {
    const auto y =
        run({{.out = 0, .a = 0}, {.out = 1, .a = 1}, {.op = op, .out = 0, .a = 0, .b = 1}},
            {{1, 3}, {1, 3}}, {a.data(), b.data()}, 3);
    for (const Half value : y) EXPECT_TRUE(std::isnan(exact(value)));
  }
}

// Inputs broadcast along any neighbouring axes, from any place on.
TEST_P(SimdChain, InputsBroadcast) {
  testing::RandomValues random(9);
  const std::int64_t count = 7 * 9 * 40;
  const auto whole = random.halves(count, 4.0f);
  for (const ChainInput form : {ChainInput{1, 1}, {1, 40}, {40, 9}, {360, 7}, {40, 63}, {1, 360}}) {
    const auto part = random.halves(form.size, 4.0f);
    const std::vector<ChainInput> forms = {{1, count}, form};
    const std::vector<ChainStep> steps = {
        {.out = 3, .a = 1}, {.out = 0, .a = 0}, {.op = ChainOp::kAdd, .out = 0, .a = 0, .b = 3}};
    const Inputs inputs = {whole.data(), part.data()};
    const auto y = run(steps, forms, inputs, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double expected =
          exact(whole[at]) + exact(part[static_cast<std::size_t>(i / form.inner % form.size)]);
      ASSERT_NEAR(exact(y[at]), expected, std::abs(expected) * 0x1.01p-11 + 0x1p-25)
          << form.inner << " " << form.size << " at " << i;
    }
    // The beginning of a range changes no bit.
    std::vector<Half> parts(y.size());
    const Chain chain = {forms.data(), steps.data(), 3};
    for (std::int64_t begin = 0; begin < count; begin += 333)
      kernels_.run_chain(chain, inputs.data(), begin, std::min(begin + 333, count), parts.data());
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(parts[i].bits, y[i].bits);
  }
}

INSTANTIATE_TEST_SUITE_P(, SimdChain, ::testing::ValuesIn(supported_isas()),
                         [](const auto& info) { return std::string(isa_name(info.param)); });

}  // namespace
}  // namespace anemone::kernels::simd
