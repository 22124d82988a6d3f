// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace anemone::kernels::simd {

// body(0), ..., body(count - 1) with constants: an array of vectors that is indexed by them alone
// stays in registers from the compiler's first pass on. Loops are unrolled too late for that, and
// GCC then copies every sum twice per step.
template <int count, typename Body>
[[gnu::always_inline]] inline void unroll(const Body& body) {
  [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, int{kIndex}>{}), ...);
  }
  (std::make_index_sequence<count>());
}

}  // namespace anemone::kernels::simd
