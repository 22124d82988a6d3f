// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear/dot.h"

#include <cstring>

namespace anemone::kernels::reference {
namespace {

// A vector of four floats, as the compiler's own type: SSE2, NEON and any other 128-bit unit get
// plain packed multiplies and adds from it, without intrinsics and without relying on the loop
// vectoriser.
using Float4 = float __attribute__((vector_size(16)));

// One unaligned load.
inline Float4 load(const float* p) {
  Float4 lanes;
  std::memcpy(&lanes, p, sizeof(lanes));
  return lanes;
}

struct Lanes {
  Float4 v0{}, v1{}, v2{}, v3{};

  void add(const float* a, const float* b) {
    v0 += load(a) * load(b);
    v1 += load(a + 4) * load(b + 4);
    v2 += load(a + 8) * load(b + 8);
    v3 += load(a + 12) * load(b + 12);
  }
  void add(const float* a) {
    v0 += load(a);
    v1 += load(a + 4);
    v2 += load(a + 8);
    v3 += load(a + 12);
  }
  float total() const {
    const Float4 w0 = v0 + v2;  // lane l and l + 8
    const Float4 w1 = v1 + v3;
    const Float4 x = w0 + w1;  // l and l + 4
    return (x[0] + x[2]) + (x[1] + x[3]);
  }
};

inline void add_tail(Lanes& lanes, const float* a, const float* b, std::int64_t count) {
  float pad_a[kDotLanes] = {};
  float pad_b[kDotLanes] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    pad_a[i] = a[i];
    pad_b[i] = b[i];
  }
  lanes.add(pad_a, pad_b);
}

}  // namespace

float dot(const float* a, const float* b, std::int64_t n) {
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) lanes.add(a + i, b + i);
  if (i < n) add_tail(lanes, a + i, b + i, n - i);
  return lanes.total();
}

void dot4(const float* rows, const float* b, std::int64_t n, float out[4]) {
  // Two rows at a time: eight accumulators and their operands fit the 16 registers of SSE2.
  for (int r = 0; r < 4; r += 2) {
    const float* row0 = rows + r * n;
    const float* row1 = row0 + n;
    Lanes lanes0, lanes1;
    std::int64_t i = 0;
    for (; i + kDotLanes <= n; i += kDotLanes) {
      lanes0.add(row0 + i, b + i);
      lanes1.add(row1 + i, b + i);
    }
    if (i < n) {
      add_tail(lanes0, row0 + i, b + i, n - i);
      add_tail(lanes1, row1 + i, b + i, n - i);
    }
    out[r] = lanes0.total();
    out[r + 1] = lanes1.total();
  }
}

float sum(const float* a, std::int64_t n) {
  Lanes lanes;
  std::int64_t i = 0;
  for (; i + kDotLanes <= n; i += kDotLanes) lanes.add(a + i);
  float tail[kDotLanes] = {};
  for (std::int64_t l = 0; i < n; ++i, ++l) tail[l] = a[i];
  lanes.add(tail);
  return lanes.total();
}

}  // namespace anemone::kernels::reference
