// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/reference/pool/pool.h"
#include "kernels/reference/pool/pooling.h"

namespace anemone::kernels::reference {
namespace {

// The root of the sum of squares.
struct Length {
  float squares = 0.0f;
  void add(float x) { squares += x * x; }
  float result(std::int64_t, double) const { return std::sqrt(squares); }
};

}  // namespace

Status l2_pool_kernel(const KernelCall& call) {
  return pool(call, [] { return Length(); });
}

}  // namespace anemone::kernels::reference
