// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/charged.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/token_model.h"
#include "text/tokenizer/vocab.h"

namespace anemone::text {

struct BpeOptions {
  std::string unk_token;  // empty: none; a character without a token is then dropped
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a piece that is an entry is that token, whatever the merges say
};

// Byte-pair encoding: the pair of lowest rank merges first, the leftmost among equals. n log n in
// the length of a piece. Thread-safe: the only state that changes is a memo of relaxed atomics.
class Bpe : public TokenModel {
 public:
  // Fills the merges; rank is the order of the calls. A few merges at a time wait for their
  // look-ups, whose cache lines are fetched meanwhile: most of the time of loading is waiting.
  class Builder {
   public:
    Builder(Vocab vocab, BpeOptions options);
    void reserve(std::size_t merges);
    // kCorrupt when a part or the whole is not an entry of the vocabulary; the call for a later
    // merge, or build(), may be the one that says so.
    Status add_merge(std::string_view left, std::string_view right);
    Result<std::unique_ptr<const Bpe>> build() &&;

   private:
    struct Waiting {
      std::size_t begin;  // in texts_: left, then right from `middle`
      std::size_t middle;
      std::size_t end;
      std::int32_t left_id;
      std::int32_t right_id;
      std::int32_t whole_id;
    };
    Status add_waiting();
    // Adds a merge given by the entries as the file writes them: literal entries, prefixes and
    // errors.
    Status add_named(std::string_view left, std::string_view right);
    void set_merge(std::int32_t left_id, std::int32_t right_id, std::int32_t whole_id,
                   std::string_view right);

    std::unique_ptr<Bpe> bpe_;
    std::uint32_t rank_ = 0;
    // Most vocabularies list what the merges make in the order of the merges: the first guess.
    std::int64_t next_whole_ = 0;
    bool has_wrong_guess_ = false;  // in the last group
    std::string texts_;             // of the merges that wait
    std::array<Waiting, 32> waiting_;
    std::size_t waiting_count_ = 0;
  };

  Status tokenize(std::string_view piece, std::vector<std::int32_t>& ids,
                  WorkBudget& work) const override;
  const Vocab& vocab() const override { return vocab_; }

 private:
  Bpe(Vocab vocab, BpeOptions options) : vocab_(std::move(vocab)), options_(std::move(options)) {}
  Status tokenize_word(std::string_view word, std::vector<std::int32_t>& ids,
                       WorkBudget& work) const;
  void append_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void merge_short(std::vector<std::int32_t>& symbols, std::size_t first) const;
  Status merge_long(std::vector<std::int32_t>& symbols, std::size_t first, WorkBudget& work) const;

  enum : std::uint8_t { kUnknown, kWhole, kNotWhole };

  Vocab vocab_;
  BpeOptions options_;
  MergeTable merges_;
  std::vector<std::int32_t> byte_ids_;  // byte-level: of each single byte; else of "<0xNN>"
  std::int32_t unk_id_ = -1;
  bool plain_symbols_ = false;      // byte-level, no affixes, all 256 bytes present
  bool cut_at_word_marks_ = false;  // no merge crosses the border before U+2581
  // Whether merging the bytes of an entry gives just that entry: most words of a text are entries,
  // so this answers them with one look-up. Filled as words come.
  mutable std::vector<std::atomic<std::uint8_t>> whole_;
};

}  // namespace anemone::text
