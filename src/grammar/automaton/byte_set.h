// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace anemone::grammar {

// A set of byte values: what one edge of an automaton accepts.
struct ByteSet {
  std::array<std::uint64_t, 4> words{};

  static ByteSet range(unsigned low, unsigned high) {  // both included
    ByteSet set;
    set.add(low, high);
    return set;
  }
  static ByteSet single(unsigned char byte) { return range(byte, byte); }

  void add(unsigned low, unsigned high) {
    for (unsigned byte = low; byte <= high; ++byte)
      words[byte / 64] |= std::uint64_t{1} << (byte % 64);
  }
  bool has(unsigned char byte) const { return ((words[byte / 64] >> (byte % 64)) & 1) != 0; }
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  bool operator==(const ByteSet&) const = default;
  auto operator<=>(const ByteSet&) const = default;
};

}  // namespace anemone::grammar
