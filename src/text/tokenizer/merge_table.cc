// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/merge_table.h"

#include <bit>

namespace anemone::text {

void MergeTable::reserve(std::size_t merges) {
  const std::size_t slots = std::bit_ceil(merges + merges / 2 + 2);
  entries_.assign(slots, Entry{});
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
}

void MergeTable::set(std::int32_t left, std::int32_t right, Merge merge) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = slot_of(key);
  while (entries_[at].key != kEmpty && entries_[at].key != key) at = (at + 1) & mask_;
  entries_[at] = {key, merge};
}

}  // namespace anemone::text
