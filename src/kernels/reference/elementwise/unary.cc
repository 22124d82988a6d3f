// SPDX-License-Identifier: Apache-2.0
// y = f(x), each element by itself.
#include "kernels/reference/elementwise/unary.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/elementwise/elementwise.h"

namespace anemone::kernels::reference {
namespace {

// An operation on fp16, fp32 and int32: F is called with a float or an int64.
template <typename F>
KernelEntry of_number(std::string_view op, F) {
  return {op, [](const KernelCall& call) { return unary_numeric(call, F{}); }};
}

float power_of_two(float x) {
  return std::exp2(x);
}

std::int64_t power_of_two(std::int64_t x) {
  return saturate_to_integer<std::int32_t>(std::exp2(static_cast<double>(x)));
}

}  // namespace

std::vector<KernelEntry> unary_kernels() {
  return {
      of_number("abs", [](auto x) { return std::abs(x); }),
      of_float("acos", [](float x) { return std::acos(x); }),
      of_float("asin", [](float x) { return std::asin(x); }),
      of_float("atan", [](float x) { return std::atan(x); }),
      of_float("atanh", [](float x) { return std::atanh(x); }),
      of_float("ceil", [](float x) { return std::ceil(x); }),
      of_float("cos", [](float x) { return std::cos(x); }),
      of_float("cosh", [](float x) { return std::cosh(x); }),
      of_float("erf", [](float x) { return std::erf(x); }),
      of_float("exp", [](float x) { return std::exp(x); }),
      of_number("exp2", [](auto x) { return power_of_two(x); }),
      of_float("floor", [](float x) { return std::floor(x); }),
      {"identity",
       [](const KernelCall& call) {
         const TensorView x = call.input("x");
         std::copy_n(x.data, x.size_bytes(), call.output().data);
         return ok_status();
       }},
      {"inverse",
       [](const KernelCall& call) {
         const auto epsilon = static_cast<float>(call.number("epsilon", 1e-4));
         return unary_float(call, [epsilon](float x) { return 1.0f / (x + epsilon); });
       }},
      {"log",
       [](const KernelCall& call) {
         const auto epsilon = static_cast<float>(call.number("epsilon", 1e-45));
         return unary_float(call, [epsilon](float x) { return std::log(x + epsilon); });
       }},
      {"logical_not",
       [](const KernelCall& call) {
         map_elements<bool, bool>(call.input("x"), call.output(), call.threads(),
                                  [](bool x) { return !x; });
         return ok_status();
       }},
      // Half goes to even, the rounding mode that every thread starts with.
      of_float("round", [](float x) { return std::nearbyint(x); }),
      {"rsqrt",
       [](const KernelCall& call) {
         const auto epsilon = static_cast<float>(call.number("epsilon", 1e-12));
         return unary_float(call, [epsilon](float x) { return 1.0f / std::sqrt(x + epsilon); });
       }},
      // Zero keeps its sign and NaN stays NaN.
      of_number("sign",
                [](auto x) {
                  using T = decltype(x);
                  return x > 0 ? T{1} : x < 0 ? T{-1} : x;
                }),
      of_float("sin", [](float x) { return std::sin(x); }),
      of_float("sinh", [](float x) { return std::sinh(x); }),
      of_float("sqrt", [](float x) { return std::sqrt(x); }),
      of_number("square", [](auto x) { return x * x; }),
      of_float("tan", [](float x) { return std::tan(x); }),
      of_float("tanh", [](float x) { return std::tanh(x); }),
      // max(x, alpha). An int32 alpha is exact in a double.
      {"threshold",
       [](const KernelCall& call) {
         const double alpha = call.number("alpha", 0);
         return unary_numeric(call, [alpha](auto x) {
           const auto limit = static_cast<decltype(x)>(alpha);
           return x < limit ? limit : x;
         });
       }},
  };
}

}  // namespace anemone::kernels::reference
