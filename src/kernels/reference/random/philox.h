// SPDX-License-Identifier: Apache-2.0
// The generator of the random operations: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011). Number i of a stream is a function of key, stream and
// i alone, so that results do not depend on threads. What Core ML draws is not documented; no two
// runtimes give the same numbers.
#pragma once

#include <array>
#include <cstdint>

namespace anemone::kernels::reference {

class Philox {
 public:
  // One stream per operation: two of them with the same seed draw different numbers.
  enum class Stream : std::uint32_t { kUniform, kNormal, kBernoulli, kCategorical };

  // A seed of -1 takes a key from the operating system, a new one every time.
  Philox(std::int64_t seed, Stream stream);

  std::array<std::uint32_t, 4> words(std::uint64_t i) const;
  // Multiples of 2^-bits from 0 below 1.
  double uniform(std::uint64_t i, int bits) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
};

}  // namespace anemone::kernels::reference
