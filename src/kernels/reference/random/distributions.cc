// SPDX-License-Identifier: Apache-2.0
// Independent draws from one distribution.
#include <cmath>

#include "kernels/reference/random/draw.h"
#include "kernels/reference/random/philox.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {
namespace {

Status random_bernoulli_kernel(const KernelCall& call) {
  const Philox philox(call.integer("seed", -1), Philox::Stream::kBernoulli);
  const double probability = call.number("prob", 0.5);
  return draw(call, [&](std::uint64_t i, auto tag) {
    return store_element<decltype(tag)>(philox.uniform(i, 53) < probability ? 1.0f : 0.0f);
  });
}

// Box and Muller's transform of two words of 32 bits; the first is moved off 0, which has no
// logarithm.
Status random_normal_kernel(const KernelCall& call) {
  const Philox philox(call.integer("seed", -1), Philox::Stream::kNormal);
  const double mean = call.number("mean", 0);
  const double deviation = call.number("stddev", 1);
  return draw(call, [&](std::uint64_t i, auto tag) {
    constexpr double kPi = 3.14159265358979323846;
    const auto words = philox.words(i);
    const double u = std::ldexp(static_cast<double>(words[0]) + 0.5, -32);
    const double v = std::ldexp(static_cast<double>(words[1]), -32);
    const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * kPi * v);
    return store_element<decltype(tag)>(static_cast<float>(mean + deviation * z));
  });
}

// low + u * (high - low) for u from 0 below 1, of as many bits as the dtype has digits; what rounds
// to high, which is excluded, becomes low.
Status random_uniform_kernel(const KernelCall& call) {
  const Philox philox(call.integer("seed", -1), Philox::Stream::kUniform);
  const auto low = static_cast<float>(call.number("low", 0));
  const auto high = static_cast<float>(call.number("high", 1));
  return draw(call, [&](std::uint64_t i, auto tag) {
    using T = decltype(tag);
    const double u = philox.uniform(i, std::is_same_v<T, float> ? 24 : 11);
    const T value = store_element<T>(
        static_cast<float>(low + u * (static_cast<double>(high) - static_cast<double>(low))));
    return low < high && load_element(value) >= high ? store_element<T>(low) : value;
  });
}

}  // namespace

std::vector<KernelEntry> distribution_kernels() {
  return {{"random_bernoulli", random_bernoulli_kernel},
          {"random_normal", random_normal_kernel},
          {"random_uniform", random_uniform_kernel}};
}

}  // namespace anemone::kernels::reference
