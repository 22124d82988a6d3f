// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/pool/pool.h"
#include "kernels/reference/pool/pooling.h"

namespace anemone::kernels::reference {
namespace {

// The padding counts as zeros, or not at all; a window of nothing gives 0.
struct Average {
  bool is_inside_only;
  float sum = 0.0f;
  void add(float x) { sum += x; }
  float result(std::int64_t inside, double padded) const {
    const double count = is_inside_only ? static_cast<double>(inside) : padded;
    return count > 0 ? static_cast<float>(sum / count) : 0.0f;
  }
};

}  // namespace

Status avg_pool_kernel(const KernelCall& call) {
  const bool excludes = call.boolean("exclude_padding_from_average", false);
  return pool(call, [excludes] { return Average{excludes}; });
}

}  // namespace anemone::kernels::reference
