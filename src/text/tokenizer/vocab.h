// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/table_hash.h"

namespace anemone::text {

// Ids are the indices of dense tables; this keeps a hostile file from asking for gigabytes.
inline constexpr std::int32_t kMaxTokenId = (1 << 22) - 1;

// The entries of a model's vocabulary: id <-> byte string. Thread-safe once filled.
class Vocab {
 public:
  // `byte_level`: entries are written in the byte alphabet and kept as the bytes they spell. An
  // entry with a character outside of it is literal: it has an id and a name, but no byte string
  // spells it.
  explicit Vocab(bool byte_level = false) : byte_level_(byte_level) {}

  void reserve(std::size_t entries, std::size_t text_bytes);
  // kCorrupt when the id is out of range or taken, or the entry is there already.
  Status add(std::string_view entry, std::int64_t id);

  // The id of the entry with these raw bytes, -1 when there is none.
  std::int32_t find_bytes(std::string_view bytes) const;
  // Starts to fetch what find_bytes of the same bytes will read.
  void prefetch(std::string_view bytes) const;
  // Whether `id` is the entry with these raw bytes: what find_bytes(bytes) == id says, in less
  // time.
  bool spells(std::int64_t id, std::string_view bytes) const;
  // The id of an entry as the file writes it, -1 when there is none.
  std::int32_t find(std::string_view entry) const;

  bool has(std::int64_t id) const;
  bool byte_level() const { return byte_level_; }
  // Raw bytes of an entry that is there. Valid as long as this Vocab.
  std::string_view bytes(std::int32_t id) const;
  // The entry as the file writes it.
  std::string entry(std::int32_t id) const;

  std::int32_t size() const { return count_; }
  // One past the largest id.
  std::int32_t end_id() const { return static_cast<std::int32_t>(entries_.size()); }

 private:
  struct Entry {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    bool used = false;
    bool literal = false;
  };
  // The key of up to seven bytes is those bytes, so that most look-ups touch one cache line; that
  // of a longer string is a hash, and the bytes of the entry decide.
  struct Bucket {
    std::uint64_t key = 0;
    std::int32_t id = -1;
  };
  std::uint64_t key_of(std::string_view bytes) const;
  void grow(std::size_t buckets);
  // The bucket of the entry with these bytes, else the empty one where it belongs.
  std::size_t bucket_of(std::uint64_t key, std::string_view bytes) const;

  bool byte_level_;
  std::string arena_;
  std::vector<Entry> entries_;   // by id
  std::vector<Bucket> buckets_;  // open addressing, a power of two, at most two thirds full
  int shift_ = 63;               // see table_place()
  std::uint64_t multiplier_ = table_multiplier();
  std::unordered_map<std::string, std::int32_t> literals_;
  std::int32_t count_ = 0;
};

}  // namespace anemone::text
