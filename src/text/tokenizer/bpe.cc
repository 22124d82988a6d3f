// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/bpe.h"

#include <algorithm>
#include <array>
#include <queue>
#include <span>

#include "base/error.h"
#include "text/tokenizer/byte_level.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81";  // U+2581
// Below this many symbols, searching all pairs again for each merge beats a heap.
constexpr std::size_t kShortWord = 40;
// Bytes that a symbol of a longer word takes: a node, two candidates and an id, whose lists may be
// there twice while they grow.
constexpr std::size_t kBytesPerSymbol = 12 + 3 * 20 + 3 * 4;
constexpr std::size_t kMergeUnits = 100;  // of the work on a merge in a heap

// True when U+2581 follows another character somewhere in `text`.
bool has_inner_word_mark(std::string_view text) {
  bool other = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(kWordMark)) {
      if (other) return true;
      i += kWordMark.size();
    } else {
      other = true;
      ++i;
    }
  }
  return false;
}

}  // namespace

Bpe::Builder::Builder(Vocab vocab, BpeOptions options)
    : bpe_(new Bpe(std::move(vocab), std::move(options))) {
  bpe_->cut_at_word_marks_ = !bpe_->vocab_.byte_level() && !bpe_->options_.ignore_merges &&
                             bpe_->options_.continuing_subword_prefix.empty() &&
                             bpe_->options_.end_of_word_suffix.empty() &&
                             bpe_->vocab_.find_bytes(kWordMark) >= 0;
}

void Bpe::Builder::reserve(std::size_t merges) {
  bpe_->merges_.reserve(merges);
}

Status Bpe::Builder::add_merge(std::string_view left, std::string_view right) {
  const Vocab& vocab = bpe_->vocab_;
  const std::size_t begin = texts_.size();
  std::size_t middle = begin;
  bool plain = bpe_->options_.continuing_subword_prefix.empty();
  if (plain && vocab.byte_level()) {
    plain = append_bytes_of_symbols(left, texts_);
    middle = texts_.size();
    plain = plain && append_bytes_of_symbols(right, texts_);
  } else if (plain) {
    texts_ += left;
    middle = texts_.size();
    texts_ += right;
  }
  if (!plain) {
    texts_.resize(begin);
    ANEMONE_RETURN_IF_ERROR(add_waiting());
    return add_named(left, right);
  }
  const std::string_view whole = std::string_view(texts_).substr(begin);
  vocab.prefetch(whole.substr(0, middle - begin));
  vocab.prefetch(whole.substr(middle - begin));
  if (has_wrong_guess_) vocab.prefetch(whole);
  waiting_[waiting_count_++] = {begin, middle, texts_.size(), -1, -1, -1};
  return waiting_count_ < waiting_.size() ? ok_status() : add_waiting();
}

Status Bpe::Builder::add_waiting() {
  const Vocab& vocab = bpe_->vocab_;
  const std::string_view texts = texts_;
  const std::span waiting(waiting_.data(), waiting_count_);
  has_wrong_guess_ = false;
  for (Waiting& merge : waiting) {
    const std::string_view whole = texts.substr(merge.begin, merge.end - merge.begin);
    merge.left_id = vocab.find_bytes(whole.substr(0, merge.middle - merge.begin));
    merge.right_id = vocab.find_bytes(whole.substr(merge.middle - merge.begin));
    merge.whole_id = static_cast<std::int32_t>(next_whole_);
    if (!vocab.spells(next_whole_, whole)) {
      merge.whole_id = vocab.find_bytes(whole);
      has_wrong_guess_ = true;
    }
    next_whole_ = std::int64_t{merge.whole_id} + 1;
    bpe_->merges_.prefetch(merge.left_id, merge.right_id);
  }
  for (const Waiting& merge : waiting) {
    const std::string_view left = texts.substr(merge.begin, merge.middle - merge.begin);
    const std::string_view right = texts.substr(merge.middle, merge.end - merge.middle);
    if (merge.left_id >= 0 && merge.right_id >= 0 && merge.whole_id >= 0)
      set_merge(merge.left_id, merge.right_id, merge.whole_id, right);
    else if (vocab.byte_level())
      ANEMONE_RETURN_IF_ERROR(add_named(symbols_of_bytes(left), symbols_of_bytes(right)));
    else
      ANEMONE_RETURN_IF_ERROR(add_named(left, right));
  }
  waiting_count_ = 0;
  texts_.clear();
  return ok_status();
}

Status Bpe::Builder::add_named(std::string_view left, std::string_view right) {
  const Vocab& vocab = bpe_->vocab_;
  // The prefix of a continuing subword is not repeated inside of the merged token.
  std::string_view tail = right;
  const std::string& prefix = bpe_->options_.continuing_subword_prefix;
  if (!prefix.empty() && tail.starts_with(prefix)) tail.remove_prefix(prefix.size());
  const std::int32_t left_id = vocab.find(left);
  const std::int32_t right_id = vocab.find(right);
  const std::int32_t whole_id = vocab.find(std::string(left) + std::string(tail));
  if (left_id < 0 || right_id < 0 || whole_id < 0)
    return corrupt(
        "[merges] expected parts and result in the vocabulary, got \"{}\" + \"{}\" (merge {})",
        left, right, rank_);
  set_merge(left_id, right_id, whole_id, right);
  return ok_status();
}

void Bpe::Builder::set_merge(std::int32_t left_id, std::int32_t right_id, std::int32_t whole_id,
                             std::string_view right) {
  bpe_->merges_.set(left_id, right_id, {rank_, whole_id});
  ++rank_;
  if (bpe_->cut_at_word_marks_ && right.starts_with(kWordMark) &&
      has_inner_word_mark(bpe_->vocab_.bytes(whole_id)))
    bpe_->cut_at_word_marks_ = false;
}

Result<std::unique_ptr<const Bpe>> Bpe::Builder::build() && {
  ANEMONE_RETURN_IF_ERROR(add_waiting());
  Bpe& bpe = *bpe_;
  if (!bpe.options_.unk_token.empty()) {
    bpe.unk_id_ = bpe.vocab_.find(bpe.options_.unk_token);
    if (bpe.unk_id_ < 0)
      return corrupt("[model] expected unk_token in the vocabulary, got \"{}\"",
                     bpe.options_.unk_token);
  }
  if (bpe.vocab_.byte_level()) {
    if (bpe.options_.byte_fallback)
      return unsupported(
          "[model] a BPE model with byte_fallback after a ByteLevel pre-tokenizer is a kind of "
          "tokenizer that is not supported");
    bool complete = true;
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      bpe.byte_ids_.push_back(bpe.vocab_.find_bytes({&c, 1}));
      complete = complete && bpe.byte_ids_.back() >= 0;
    }
    if (!bpe.options_.continuing_subword_prefix.empty() || !bpe.options_.end_of_word_suffix.empty())
      return unsupported("[model] expected no subword affixes with ByteLevel, got some");
    bpe.plain_symbols_ = complete;
  } else {
    bpe.byte_ids_ = find_byte_tokens(bpe.vocab_);
  }
  bpe.whole_ =
      std::vector<std::atomic<std::uint8_t>>(static_cast<std::size_t>(bpe.vocab_.end_id()));
  return std::unique_ptr<const Bpe>(std::move(bpe_));
}

Status Bpe::tokenize(std::string_view piece, std::vector<std::int32_t>& ids,
                     WorkBudget& work) const {
  if (!cut_at_word_marks_) return tokenize_word(piece, ids, work);
  // Runs of marks stay with the word after them.
  std::size_t begin = 0;
  while (begin < piece.size()) {
    std::size_t at = begin;
    while (piece.substr(at).starts_with(kWordMark)) at += kWordMark.size();
    const std::size_t end = std::min(piece.find(kWordMark, at), piece.size());
    ANEMONE_RETURN_IF_ERROR(tokenize_word(piece.substr(begin, end - begin), ids, work));
    begin = end;
  }
  return ok_status();
}

Status Bpe::tokenize_word(std::string_view word, std::vector<std::int32_t>& ids,
                          WorkBudget& work) const {
  const std::int32_t entry = vocab_.find_bytes(word);
  const auto memo = static_cast<std::size_t>(entry);
  if (entry >= 0) {
    if (options_.ignore_merges || whole_[memo].load(std::memory_order_relaxed) == kWhole) {
      ids.push_back(entry);
      return ok_status();
    }
  }
  const std::size_t first = ids.size();
  // Each character may become the bytes of the prefix and its own.
  const std::size_t most = word.size() * (1 + options_.continuing_subword_prefix.size()) +
                           options_.end_of_word_suffix.size();
  if (most <= kShortWord) {
    append_symbols(word, ids);
    merge_short(ids, first);
  } else {
    ANEMONE_RETURN_IF_ERROR(work.spend(most));
    MemoryCharge memory(work);
    ANEMONE_RETURN_IF_ERROR(memory.hold(most * kBytesPerSymbol));
    append_symbols(word, ids);
    if (ids.size() - first <= kShortWord)
      merge_short(ids, first);
    else
      ANEMONE_RETURN_IF_ERROR(merge_long(ids, first, work));
  }
  if (entry >= 0) {
    const bool whole = ids.size() == first + 1 && ids[first] == entry;
    whole_[memo].store(whole ? kWhole : kNotWhole, std::memory_order_relaxed);
  }
  return ok_status();
}

void Bpe::append_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const {
  if (plain_symbols_) {
    for (const char c : word) symbols.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    return;
  }
  bool unk_waits = false;
  std::string scratch;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t length =
        vocab_.byte_level() ? 1 : static_cast<std::size_t>(decode_code_point(word, i).length);
    const std::string_view character = word.substr(i, length);
    scratch.clear();
    if (i > 0) scratch += options_.continuing_subword_prefix;
    scratch += character;
    if (i + length == word.size()) scratch += options_.end_of_word_suffix;
    i += length;
    const std::int32_t id = vocab_.find_bytes(scratch);
    if (id >= 0) {
      if (unk_waits) symbols.push_back(unk_id_);
      unk_waits = false;
      symbols.push_back(id);
      continue;
    }
    if (options_.byte_fallback) {
      const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
      if (std::all_of(scratch.begin(), scratch.end(), [&](char c) { return id_of(c) >= 0; })) {
        for (const char c : scratch) symbols.push_back(id_of(c));
        continue;
      }
    }
    if (unk_id_ < 0) continue;
    if (unk_waits && !options_.fuse_unk) symbols.push_back(unk_id_);
    unk_waits = true;
  }
  if (unk_waits) symbols.push_back(unk_id_);
}

void Bpe::merge_short(std::vector<std::int32_t>& symbols, std::size_t first) const {
  std::size_t count = symbols.size() - first;
  if (count < 2) return;
  std::int32_t* ids = symbols.data() + first;
  constexpr Merge kNone = {UINT32_MAX, -1};
  std::array<Merge, kShortWord> pairs;  // pairs[i]: the merge of ids[i] and ids[i + 1]
  const auto pair_at = [&](std::size_t i) {
    const Merge* merge = i + 1 < count ? merges_.find(ids[i], ids[i + 1]) : nullptr;
    return merge != nullptr ? *merge : kNone;
  };
  for (std::size_t i = 0; i < count; ++i) pairs[i] = pair_at(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].id < 0) break;
    ids[best] = pairs[best].id;
    std::copy(ids + best + 2, ids + count, ids + best + 1);
    std::copy(pairs.begin() + static_cast<std::ptrdiff_t>(best) + 2,
              pairs.begin() + static_cast<std::ptrdiff_t>(count),
              pairs.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --count;
    pairs[best] = pair_at(best);
    if (best > 0) pairs[best - 1] = pair_at(best - 1);
  }
  symbols.resize(first + count);
}

Status Bpe::merge_long(std::vector<std::int32_t>& symbols, std::size_t first,
                       WorkBudget& work) const {
  struct Node {
    std::int32_t id;
    std::uint32_t previous;
    std::uint32_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::uint32_t at;
    std::int32_t left;
    std::int32_t right;
    std::int32_t id;
    bool operator<(const Candidate& other) const {  // the largest comes first
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  constexpr std::uint32_t kEnd = UINT32_MAX;
  const std::size_t count = symbols.size() - first;
  std::vector<Node> nodes(count);
  std::vector<Candidate> initial;
  initial.reserve(count);
  const auto consider = [&](std::uint32_t at, auto&& accept) {
    const std::uint32_t next = nodes[at].next;
    if (next == kEnd) return;
    if (const Merge* merge = merges_.find(nodes[at].id, nodes[next].id))
      accept(Candidate{merge->rank, at, nodes[at].id, nodes[next].id, merge->id});
  };
  for (std::uint32_t i = 0; i < count; ++i)
    nodes[i] = {symbols[first + i], i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1};
  for (std::uint32_t i = 0; i < count; ++i)
    consider(i, [&](const Candidate& candidate) { initial.push_back(candidate); });
  std::priority_queue<Candidate> queue({}, std::move(initial));
  while (!queue.empty()) {
    ANEMONE_RETURN_IF_ERROR(work.spend(kMergeUnits));
    const Candidate top = queue.top();
    queue.pop();
    Node& node = nodes[top.at];
    // A candidate is stale when either of its two symbols has merged since.
    if (node.id != top.left || node.next == kEnd || nodes[node.next].id != top.right) continue;
    Node& dead = nodes[node.next];
    node.id = top.id;
    node.next = dead.next;
    dead.id = -1;
    if (node.next != kEnd) nodes[node.next].previous = top.at;
    const auto push = [&](const Candidate& candidate) { queue.push(candidate); };
    consider(top.at, push);
    if (node.previous != kEnd) consider(node.previous, push);
  }
  std::size_t out = first;
  for (std::uint32_t i = 0; i != kEnd; i = nodes[i].next) symbols[out++] = nodes[i].id;
  symbols.resize(out);
  return ok_status();
}

}  // namespace anemone::text
