// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/random/draw.h"
#include "kernels/reference/random/philox.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {

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

}  // namespace anemone::kernels::reference
