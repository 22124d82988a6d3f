// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anemone::text {

// An odd number, drawn once a process: the hash tables of this module multiply by it, so that
// whoever writes a tokenizer.json cannot know which of its entries would collide. Thread-safe.
std::uint64_t table_multiplier();

// Where a key goes in a table of 2^(64 - shift) places. `multiplier` is table_multiplier(). The
// first product is a fixed one that breaks up regular keys; the second is the secret one.
inline std::uint64_t table_place(std::uint64_t key, std::uint64_t multiplier, int shift) {
  const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
  return ((mixed ^ mixed >> 32) * multiplier) >> shift;
}

}  // namespace anemone::text
