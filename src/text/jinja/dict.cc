// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "base/error.h"
#include "text/jinja/heap.h"
#include "text/jinja/value.h"

namespace anemone::text::jinja {
namespace {

constexpr std::size_t kIndexFrom = 16;  // a smaller dict compares all hashes, which is faster
constexpr std::size_t kAbsent = SIZE_MAX;
constexpr std::size_t kFindCost = 20;  // in the units of Heap::charge()

}  // namespace

template <typename Predicate>
std::size_t Dict::probe(std::uint64_t hash, Predicate&& is_key) const {
  if (slots_.empty()) {
    for (std::size_t i = 0; i < hashes_.size(); ++i)
      if (hashes_[i] == hash && is_key(i)) return i;
    return kAbsent;
  }
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask; slots_[at] != 0; at = (at + 1) & mask) {
    const std::size_t entry = slots_[at] - 1;
    if (hashes_[entry] == hash && is_key(entry)) return entry;
  }
  return kAbsent;
}

Result<std::size_t> Dict::position(Heap& heap, const Value& key, std::uint64_t hash) const {
  Status status;
  const std::size_t found = probe(hash, [&](std::size_t i) {
    auto same = equal(heap, entries_[i].first, key);
    if (!same.ok()) status = same.status();
    return !same.ok() || *same;
  });
  ANEMONE_RETURN_IF_ERROR(status);
  return found;
}

Result<const Value*> Dict::find(Heap& heap, const Value& key) const {
  ANEMONE_RETURN_IF_ERROR(heap.charge(kFindCost));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t hash, hash_of(heap, key));
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t at, position(heap, key, hash));
  return at == kAbsent ? nullptr : &entries_[at].second;
}

const Value* Dict::find(std::string_view key) const {
  if (entries_.empty()) return nullptr;
  const std::size_t at = probe(hash_of_text(key), [&](std::size_t i) {
    const std::string* text = entries_[i].first.as_text();
    return text != nullptr && *text == key;
  });
  return at == kAbsent ? nullptr : &entries_[at].second;
}

Status Dict::set(Heap& heap, const Value& key, Value value) {
  ANEMONE_RETURN_IF_ERROR(heap.charge(kFindCost + 2 * cost::kItem));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t hash, hash_of(heap, key));
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t at, position(heap, key, hash));
  if (at != kAbsent) {
    entries_[at].second = std::move(value);
    return ok_status();
  }
  if (entries_.size() >= heap.limits().items)
    return invalid_argument("[chat template] expected at most {} items", heap.limits().items);
  entries_.emplace_back(key, std::move(value));
  hashes_.push_back(hash);
  if (entries_.size() < kIndexFrom) return ok_status();
  if (entries_.size() * 2 > slots_.size()) {
    index_all();
    return ok_status();
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return ok_status();
}

Result<bool> Dict::erase(Heap& heap, const Value& key) {
  ANEMONE_RETURN_IF_ERROR(heap.charge(kFindCost + entries_.size() * cost::kItem));
  ANEMONE_ASSIGN_OR_RETURN(const std::uint64_t hash, hash_of(heap, key));
  ANEMONE_ASSIGN_OR_RETURN(const std::size_t at, position(heap, key, hash));
  if (at == kAbsent) return false;
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
  hashes_.erase(hashes_.begin() + static_cast<std::ptrdiff_t>(at));
  index_all();
  return true;
}

void Dict::index_all() {
  if (entries_.size() < kIndexFrom) {
    slots_.clear();
    return;
  }
  slots_.assign(std::bit_ceil(entries_.size() * 4), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t i = 0; i < hashes_.size(); ++i) {
    std::size_t slot = hashes_[i] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

void Dict::clear() {
  entries_.clear();
  hashes_.clear();
  slots_.clear();
}

}  // namespace anemone::text::jinja
