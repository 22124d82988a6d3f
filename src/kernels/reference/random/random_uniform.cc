// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/random/draw.h"
#include "kernels/reference/random/philox.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {

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

}  // namespace anemone::kernels::reference
