// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/table_hash.h"

namespace anemone::text {

struct Merge {
  std::uint32_t rank;
  std::int32_t id;  // of the merged token
};

// BPE merges by pair of ids: open addressing over 16-byte entries, so that a look-up is one cache
// line.
class MergeTable {
 public:
  void reserve(std::size_t merges);
  // A pair that is there already takes the new rank. The table must have room: reserve() first.
  void set(std::int32_t left, std::int32_t right, Merge merge);
  // Starts to fetch what set() or find() of the same pair will touch.
  void prefetch(std::int32_t left, std::int32_t right) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[slot_of(key_of(left, right))]);
  }
  // nullptr when the pair does not merge.
  const Merge* find(std::int32_t left, std::int32_t right) const {
    if (entries_.empty()) return nullptr;
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (entries_[at].key == key) return &entries_[at].merge;
      if (entries_[at].key == kEmpty) return nullptr;
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = UINT64_MAX;  // no pair: ids are not negative
  struct Entry {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    return static_cast<std::size_t>(table_place(key, multiplier_, shift_));
  }

  std::vector<Entry> entries_;
  std::size_t mask_ = 0;
  int shift_ = 63;  // see table_place()
  std::uint64_t multiplier_ = table_multiplier();
};

}  // namespace anemone::text
