// SPDX-License-Identifier: Apache-2.0
// Activation functions. Those with limits are written so that NaN stays NaN.
#include <cmath>

#include "kernels/reference/elementwise/channels.h"
#include "kernels/reference/elementwise/elementwise.h"
#include "kernels/reference/elementwise/unary.h"

namespace anemone::kernels::reference {
namespace {

// An activation for fp16 and fp32, with one constant for the tensor.
template <typename F>
KernelEntry of_float_alpha(std::string_view op, F) {
  return {op, [](const KernelCall& call) {
            const auto alpha = static_cast<float>(call.number("alpha", 0));
            return unary_float(call, [alpha](float x) { return F{}(x, alpha); });
          }};
}

// An activation for fp16 and fp32, with two constants for the tensor.
template <typename F>
KernelEntry of_float_alpha_beta(std::string_view op, F) {
  return {op, [](const KernelCall& call) {
            const auto alpha = static_cast<float>(call.number("alpha", 0));
            const auto beta = static_cast<float>(call.number("beta", 0));
            return unary_float(call, [alpha, beta](float x) { return F{}(x, alpha, beta); });
          }};
}

}  // namespace

std::vector<KernelEntry> activation_kernels() {
  return {
      of_float_alpha_beta("clamped_relu",
                          [](float x, float alpha, float beta) {
                            const float y = x < 0.0f ? alpha * x : x;
                            return y > beta ? beta : y;
                          }),
      of_float_alpha("elu",
                     [](float x, float alpha) { return x > 0.0f ? x : alpha * std::expm1(x); }),
      of_float_alpha("leaky_relu", [](float x, float alpha) { return x < 0.0f ? alpha * x : x; }),
      of_float_alpha_beta("linear_activation",
                          [](float x, float alpha, float beta) { return alpha * x + beta; }),
      {"prelu",
       [](const KernelCall& call) {
         const std::vector<float> alpha = to_floats(call.input("alpha"));
         return map_channels(call,
                             [&](float x, std::size_t c) { return x < 0.0f ? alpha[c] * x : x; });
       }},
      of_float("relu", [](float x) { return x < 0.0f ? 0.0f : x; }),
      of_float("relu6",
               [](float x) {
                 if (x < 0.0f) return 0.0f;
                 return x > 6.0f ? 6.0f : x;
               }),
      of_float_alpha_beta("scaled_tanh", [](float x, float alpha,
                                            float beta) { return alpha * std::tanh(beta * x); }),
      of_float("sigmoid", [](float x) { return 1.0f / (1.0f + std::exp(-x)); }),
      of_float_alpha_beta("sigmoid_hard",
                          [](float x, float alpha, float beta) {
                            const float y = alpha * x + beta;
                            return y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
                          }),
      of_float("silu", [](float x) { return x / (1.0f + std::exp(-x)); }),
      // log(1 + exp(x)) without an exponential that overflows.
      of_float("softplus",
               [](float x) { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }),
      // alpha * log(1 + exp(z)) with z = beta * x, written so that the exponential does not
      // overflow.
      {"softplus_parametric",
       [](const KernelCall& call) {
         const std::vector<float> alpha = to_floats(call.input("alpha"));
         const std::vector<float> beta = to_floats(call.input("beta"));
         return map_channels(call, [&](float x, std::size_t c) {
           const float z = beta[c] * x;
           return alpha[c] * ((z < 0.0f ? 0.0f : z) + std::log1p(std::exp(-std::abs(z))));
         });
       }},
      of_float("softsign", [](float x) { return x / (1.0f + std::fabs(x)); }),
      of_float_alpha("thresholded_relu", [](float x, float alpha) { return x < alpha ? 0.0f : x; }),
  };
}

}  // namespace anemone::kernels::reference
