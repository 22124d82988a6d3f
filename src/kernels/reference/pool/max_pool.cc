// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/reference/pool/pool.h"
#include "kernels/reference/pool/pooling.h"

namespace anemone::kernels::reference {
namespace {

// Padding never wins, and NaN always does.
struct Maximum {
  float value = -std::numeric_limits<float>::infinity();
  void add(float x) {
    if (x > value || std::isnan(x)) value = x;
  }
  float result(std::int64_t, double) const { return value; }
};

}  // namespace

Status max_pool_kernel(const KernelCall& call) {
  return pool(call, [] { return Maximum(); });
}

}  // namespace anemone::kernels::reference
