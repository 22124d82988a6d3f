// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/random/philox.h"

#include <cmath>
#include <random>

namespace anemone::kernels::reference {

Philox::Philox(std::int64_t seed, Stream stream) : stream_(static_cast<std::uint32_t>(stream)) {
  if (seed == -1) {
    std::random_device device;
    key_ = {device(), device()};
    return;
  }
  key_ = {static_cast<std::uint32_t>(seed), 0};
}

std::array<std::uint32_t, 4> Philox::words(std::uint64_t i) const {
  std::array<std::uint32_t, 4> c = {static_cast<std::uint32_t>(i),
                                    static_cast<std::uint32_t>(i >> 32), stream_, 0};
  std::uint32_t k0 = key_[0], k1 = key_[1];
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

double Philox::uniform(std::uint64_t i, int bits) const {
  const auto w = words(i);
  const std::uint64_t both = (std::uint64_t{w[0]} << 32) | w[1];
  return std::ldexp(static_cast<double>(both >> (64 - bits)), -bits);
}

}  // namespace anemone::kernels::reference
