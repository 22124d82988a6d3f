// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/random/draw.h"
#include "kernels/reference/random/philox.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {

Status random_bernoulli_kernel(const KernelCall& call) {
  const Philox philox(call.integer("seed", -1), Philox::Stream::kBernoulli);
  const double probability = call.number("prob", 0.5);
  return draw(call, [&](std::uint64_t i, auto tag) {
    return store_element<decltype(tag)>(philox.uniform(i, 53) < probability ? 1.0f : 0.0f);
  });
}

}  // namespace anemone::kernels::reference
