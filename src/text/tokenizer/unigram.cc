// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/unigram.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizer/regex.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// Below the lowest score, so that an unknown character is the last resort.
constexpr double kUnknownPenalty = 10.0;
constexpr std::size_t kEntryUnits = 10;  // of the work on one byte of an entry

}  // namespace

Result<std::unique_ptr<const Unigram>> Unigram::build(Vocab vocab, std::vector<double> scores,
                                                      std::int32_t unk_id, bool byte_fallback) {
  if (unk_id >= 0 && !vocab.has(unk_id))
    return corrupt("[model] expected unk_id in the vocabulary, got {}", unk_id);
  std::unique_ptr<Unigram> model(new Unigram(std::move(vocab), std::move(scores), unk_id));
  const double lowest = model->scores_.empty()
                            ? 0.0
                            : *std::min_element(model->scores_.begin(), model->scores_.end());
  model->unk_score_ = lowest - kUnknownPenalty;
  if (byte_fallback) model->byte_ids_ = find_byte_tokens(model->vocab_);
  for (std::int32_t id = 0; id < model->vocab_.end_id(); ++id)
    if (!model->vocab_.bytes(id).empty()) model->sorted_.push_back(id);
  std::sort(model->sorted_.begin(), model->sorted_.end(), [&](std::int32_t a, std::int32_t b) {
    return model->vocab_.bytes(a) < model->vocab_.bytes(b);
  });
  return std::unique_ptr<const Unigram>(std::move(model));
}

Status Unigram::tokenize(std::string_view piece, std::vector<std::int32_t>& ids,
                         WorkBudget& work) const {
  struct Node {
    double score = 0;
    std::size_t begin = SIZE_MAX;  // SIZE_MAX: not reached
    std::int32_t id = -1;
  };
  MemoryCharge memory(work);
  ANEMONE_RETURN_IF_ERROR(
      memory.hold(piece.size() * (sizeof(Node) + 3 * (sizeof(Match) + sizeof(std::int32_t)))));
  std::vector<Node> best(piece.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, double score, std::int32_t id) {
    Node& node = best[end];
    const double total = best[begin].score + score;
    if (node.begin == SIZE_MAX || total > node.score) node = {total, begin, id};
  };
  for (std::size_t begin = 0; begin < piece.size();) {
    const auto step = static_cast<std::size_t>(decode_code_point(piece, begin).length);
    bool has_single = false;
    auto low = sorted_.begin();
    auto high = sorted_.end();
    std::size_t depth = 0;
    for (; begin + depth < piece.size() && low != high; ++depth) {
      const auto byte_of = [&](std::int32_t id) {
        return static_cast<unsigned char>(vocab_.bytes(id)[depth]);
      };
      const auto byte = static_cast<unsigned char>(piece[begin + depth]);
      // All entries of [low, high) share `depth` bytes; one that ends there sorts first and is
      // done.
      if (vocab_.bytes(*low).size() == depth) ++low;
      if (low == high) break;
      // All of them may go on with this byte: long entries share long beginnings.
      if (byte_of(*low) != byte || byte_of(high[-1]) != byte) {
        low = std::partition_point(low, high, [&](std::int32_t id) { return byte_of(id) < byte; });
        high =
            std::partition_point(low, high, [&](std::int32_t id) { return byte_of(id) == byte; });
      }
      if (low == high || vocab_.bytes(*low).size() != depth + 1) continue;
      offer(begin, begin + depth + 1, scores_[static_cast<std::size_t>(*low)], *low);
      has_single = has_single || depth + 1 == step;
    }
    ANEMONE_RETURN_IF_ERROR(work.spend(depth * kEntryUnits));
    if (!has_single) {
      if (unk_id_ < 0)
        return unsupported("[unigram] expected an unk_id for a character without entry");
      offer(begin, begin + step, unk_score_, unk_id_);
    }
    begin += step;
  }
  // Backwards; neighbouring unknown characters form one part.
  std::vector<Match> parts;
  bool in_unknown = false;
  for (std::size_t end = piece.size(); end > 0;) {
    const Node& node = best[end];
    const bool unknown = unk_id_ >= 0 && node.id == unk_id_;
    if (unknown && in_unknown)
      parts.back().begin = node.begin;
    else
      parts.push_back({node.begin, end});
    in_unknown = unknown;
    end = node.begin;
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    ANEMONE_RETURN_IF_ERROR(append_ids(piece.substr(part->begin, part->end - part->begin), ids));
  return ok_status();
}

Status Unigram::append_ids(std::string_view part, std::vector<std::int32_t>& ids) const {
  const std::int32_t id = vocab_.find_bytes(part);
  if (id >= 0) {
    ids.push_back(id);
    return ok_status();
  }
  if (!byte_ids_.empty()) {
    const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
    if (std::all_of(part.begin(), part.end(), [&](char c) { return id_of(c) >= 0; })) {
      for (const char c : part) ids.push_back(id_of(c));
      return ok_status();
    }
  }
  if (unk_id_ < 0) return unsupported("[unigram] expected an unk_id for a part without entry");
  ids.push_back(unk_id_);
  return ok_status();
}

}  // namespace anemone::text
