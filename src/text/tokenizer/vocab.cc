// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/vocab.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "text/tokenizer/byte_level.h"

namespace anemone::text {
namespace {

// The longest string that a key holds as it is; the highest byte of the key is its length.
constexpr std::size_t kExactBytes = 7;
constexpr std::uint64_t kHashed = 0xFFULL << 56;

template <typename Word>
std::uint64_t load(const char* at) {
  Word word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Up to seven bytes as a number, by loads of fixed sizes that overlap: a copy of a length known at
// run time is a call.
std::uint64_t load_few(const char* at, std::size_t count) {
  if (count >= 4)
    return load<std::uint32_t>(at) | load<std::uint32_t>(at + count - 4) << 8 * (count - 4);
  if (count >= 2)
    return load<std::uint16_t>(at) | load<std::uint16_t>(at + count - 2) << 8 * (count - 2);
  return count == 1 ? load<std::uint8_t>(at) : 0;
}

std::size_t buckets_for(std::size_t entries) {
  return std::bit_ceil(entries + entries / 2 + 16);
}

}  // namespace

std::uint64_t Vocab::key_of(std::string_view bytes) const {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  if (left <= kExactBytes) return load_few(at, left) | static_cast<std::uint64_t>(left) << 56;
  std::uint64_t hash = left;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * multiplier_;
    hash ^= hash >> 32;
  };
  for (; left >= 8; at += 8, left -= 8) mix(load<std::uint64_t>(at));
  // The last eight bytes again, whatever is left of them.
  mix(load<std::uint64_t>(bytes.data() + bytes.size() - 8));
  return hash | kHashed;
}

void Vocab::reserve(std::size_t entries, std::size_t text_bytes) {
  entries_.reserve(entries);
  arena_.reserve(text_bytes);
  grow(buckets_for(entries));
}

void Vocab::grow(std::size_t buckets) {
  if (buckets <= buckets_.size()) return;
  std::vector<Bucket> old(buckets);
  old.swap(buckets_);
  shift_ = 64 - std::countr_zero(buckets);
  for (const Bucket& bucket : old)
    if (bucket.id >= 0) buckets_[bucket_of(bucket.key, bytes(bucket.id))] = bucket;
}

std::size_t Vocab::bucket_of(std::uint64_t key, std::string_view bytes) const {
  const std::size_t mask = buckets_.size() - 1;
  auto at = static_cast<std::size_t>(table_place(key, multiplier_, shift_));
  for (; buckets_[at].id >= 0; at = (at + 1) & mask)
    if (buckets_[at].key == key && (key < kHashed || this->bytes(buckets_[at].id) == bytes)) break;
  return at;
}

Status Vocab::add(std::string_view entry, std::int64_t id) {
  if (id < 0 || id > kMaxTokenId)
    return corrupt("[vocab] expected an id from 0 to {}, got {} (entry \"{}\")", kMaxTokenId, id,
                   entry);
  if (has(id))
    return corrupt("[vocab] expected each id once, got {} twice (entry \"{}\")", id, entry);
  if (arena_.size() + entry.size() > UINT32_MAX) return corrupt("[vocab] expected less than 4 GiB");
  const auto number = static_cast<std::int32_t>(id);
  const auto offset = static_cast<std::uint32_t>(arena_.size());
  bool literal = false;
  if (!byte_level_) {
    arena_ += entry;
  } else if (!append_bytes_of_symbols(entry, arena_)) {
    literal = true;
    arena_ += entry;
  }
  const std::string_view stored = std::string_view(arena_).substr(offset);
  if (literal) {
    if (!literals_.emplace(entry, number).second)
      return corrupt("[vocab] expected each entry once, got \"{}\" twice", entry);
  } else {
    grow(buckets_for(static_cast<std::size_t>(count_) + 1));
    const std::uint64_t key = key_of(stored);
    Bucket& bucket = buckets_[bucket_of(key, stored)];
    if (bucket.id >= 0) return corrupt("[vocab] expected each entry once, got \"{}\" twice", entry);
    bucket = {key, number};
  }
  if (id >= end_id()) entries_.resize(static_cast<std::size_t>(id) + 1);
  entries_[static_cast<std::size_t>(id)] = {offset, static_cast<std::uint32_t>(stored.size()), true,
                                            literal};
  ++count_;
  return ok_status();
}

std::int32_t Vocab::find_bytes(std::string_view bytes) const {
  return buckets_.empty() ? -1 : buckets_[bucket_of(key_of(bytes), bytes)].id;
}

void Vocab::prefetch(std::string_view bytes) const {
  if (!buckets_.empty())
    __builtin_prefetch(&buckets_[table_place(key_of(bytes), multiplier_, shift_)]);
}

bool Vocab::spells(std::int64_t id, std::string_view bytes) const {
  if (!has(id) || entries_[static_cast<std::size_t>(id)].literal) return false;
  return this->bytes(static_cast<std::int32_t>(id)) == bytes;
}

std::int32_t Vocab::find(std::string_view entry) const {
  if (!byte_level_) return find_bytes(entry);
  if (const auto bytes = bytes_of_symbols(entry)) return find_bytes(*bytes);
  const auto it = literals_.find(std::string(entry));
  return it == literals_.end() ? -1 : it->second;
}

bool Vocab::has(std::int64_t id) const {
  return id >= 0 && id < end_id() && entries_[static_cast<std::size_t>(id)].used;
}

std::string_view Vocab::bytes(std::int32_t id) const {
  const Entry& entry = entries_[static_cast<std::size_t>(id)];
  return std::string_view(arena_).substr(entry.offset, entry.length);
}

std::string Vocab::entry(std::int32_t id) const {
  const bool symbols = byte_level_ && !entries_[static_cast<std::size_t>(id)].literal;
  return symbols ? symbols_of_bytes(bytes(id)) : std::string(bytes(id));
}

}  // namespace anemone::text
