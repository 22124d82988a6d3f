// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/random/draw.h"
#include "kernels/reference/random/philox.h"
#include "kernels/reference/random/random.h"

namespace anemone::kernels::reference {
namespace {

// Running sums of the weights of each row of classes; NaN and what is below 0 weighs nothing.
std::vector<double> running_weights(const std::vector<float>& x, std::size_t classes,
                                    bool is_logits) {
  std::vector<double> sums(x.size());
  for (std::size_t row = 0; row < x.size(); row += classes) {
    float highest = -std::numeric_limits<float>::infinity();
    for (std::size_t k = 0; k < classes; ++k)
      if (x[row + k] > highest) highest = x[row + k];
    double total = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const auto value = static_cast<double>(x[row + k]);
      // The highest of all weighs 1, also where it is infinite.
      const double weight = !is_logits ? value
                            : x[row + k] == highest
                                ? 1
                                : std::exp(value - static_cast<double>(highest));
      if (weight > 0) total += weight;
      sums[row + k] = total;
    }
  }
  return sums;
}

}  // namespace

Status random_categorical_kernel(const KernelCall& call) {
  const Philox philox(call.integer("seed", -1), Philox::Stream::kCategorical);
  const TensorView x = call.input("x");
  const auto classes = static_cast<std::size_t>(x.shape.back());
  const auto size = static_cast<std::uint64_t>(call.integer("size", 1));
  const std::vector<double> sums =
      running_weights(to_floats(x), classes, call.text("mode", "logits") == "logits");
  return draw(call, [&](std::uint64_t i, auto tag) {
    const auto row = sums.begin() + static_cast<std::ptrdiff_t>(i / size * classes);
    const auto end = row + static_cast<std::ptrdiff_t>(classes);
    // The first class whose running sum is above the draw; the last one if rounding leaves none.
    const double place = philox.uniform(i, 53) * *(end - 1);
    const auto index = std::min(std::upper_bound(row, end, place) - row, end - row - 1);
    return store_element<decltype(tag)>(static_cast<float>(index));
  });
}

}  // namespace anemone::kernels::reference
