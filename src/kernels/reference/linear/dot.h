// SPDX-License-Identifier: Apache-2.0
// The canonical dot product of all float linear kernels. Its order of additions is part of the
// contract: an output element depends on its row and its column alone, bit for bit, however the
// work is blocked, threaded or vectorised. Prefill of many tokens and decode of one token therefore
// agree exactly, and a SIMD kernel that follows the same order agrees with the reference.
#pragma once

#include <cstdint>

namespace anemone::kernels::reference {

inline constexpr int kDotLanes = 16;

// sum over i of a[i] * b[i], n >= 0, in this order:
//   lane[l] = products of i = l, l + 16, l + 32, ... added one after another to 0 (l = 0..15);
//   then lane[l] += lane[l + 8] for l < 8, lane[l] += lane[l + 4] for l < 4, then + 2, then + 1.
// Products and sums are rounded one by one (no fused multiply-add). A tail shorter than 16 is as if
// both operands were padded with zeros: a lane never holds -0, so that adding 0 to it changes
// nothing.
float dot(const float* a, const float* b, std::int64_t n);

// out[r] = dot(rows + r * n, b, n) for r < 4, faster than four calls. Same bits.
void dot4(const float* rows, const float* b, std::int64_t n, float out[4]);

// sum of a[i] in the same order of lanes.
float sum(const float* a, std::int64_t n);

}  // namespace anemone::kernels::reference
