// SPDX-License-Identifier: Apache-2.0
#include "text/vocab.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "text/byte_level.h"

namespace anemone::text {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15ULL;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMultiplier;
  return hash ^ hash >> 32;
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = bytes.size() * kMultiplier;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mix(hash, word);
    at += 8;
    left -= 8;
  }
  if (left > 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    hash = mix(hash, word);
  }
  return mix(hash, hash >> 29);
}

void Vocab::reserve(std::size_t entries, std::size_t text_bytes) {
  slots_.reserve(entries);
  arena_.reserve(text_bytes);
  grow(std::bit_ceil(entries * 2 + 16));
}

void Vocab::grow(std::size_t buckets) {
  if (buckets <= buckets_.size()) return;
  buckets_.assign(buckets, Bucket{});
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    const auto number = static_cast<std::int32_t>(id);
    if (slots_[id].used && !slots_[id].literal) insert_bucket(hash_bytes(bytes(number)), number);
  }
}

void Vocab::insert_bucket(std::uint64_t hash, std::int32_t id) {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = hash & mask;
  while (buckets_[at].id >= 0) at = (at + 1) & mask;
  buckets_[at] = {static_cast<std::uint32_t>(hash >> 32), id};
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
    if (find_bytes(stored) >= 0)
      return corrupt("[vocab] expected each entry once, got \"{}\" twice", entry);
    grow(std::bit_ceil(static_cast<std::size_t>(count_ + 8) * 2));
    insert_bucket(hash_bytes(stored), number);
  }
  if (id >= end_id()) slots_.resize(static_cast<std::size_t>(id) + 1);
  slots_[static_cast<std::size_t>(id)] = {offset, static_cast<std::uint32_t>(stored.size()), true,
                                          literal};
  ++count_;
  return ok_status();
}

std::int32_t Vocab::find_bytes(std::string_view bytes) const {
  if (buckets_.empty()) return -1;
  const std::uint64_t hash = hash_bytes(bytes);
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t at = hash & mask; buckets_[at].id >= 0; at = (at + 1) & mask) {
    if (buckets_[at].hash == static_cast<std::uint32_t>(hash >> 32) &&
        this->bytes(buckets_[at].id) == bytes)
      return buckets_[at].id;
  }
  return -1;
}

std::int32_t Vocab::find(std::string_view entry) const {
  if (!byte_level_) return find_bytes(entry);
  if (const auto bytes = bytes_of_symbols(entry)) return find_bytes(*bytes);
  const auto it = literals_.find(std::string(entry));
  return it == literals_.end() ? -1 : it->second;
}

bool Vocab::has(std::int64_t id) const {
  return id >= 0 && id < end_id() && slots_[static_cast<std::size_t>(id)].used;
}

std::string_view Vocab::bytes(std::int32_t id) const {
  const Slot& slot = slots_[static_cast<std::size_t>(id)];
  return std::string_view(arena_).substr(slot.offset, slot.length);
}

std::string Vocab::entry(std::int32_t id) const {
  const bool symbols = byte_level_ && !slots_[static_cast<std::size_t>(id)].literal;
  return symbols ? symbols_of_bytes(bytes(id)) : std::string(bytes(id));
}

}  // namespace anemone::text
