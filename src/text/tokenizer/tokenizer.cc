// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/text_work.h"
#include "text/tokenizer/byte_level.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// Units of WorkBudget that a piece costs, and each of its bytes.
constexpr std::size_t kPieceUnits = 50;
constexpr std::size_t kUnitsPerByte = 10;
// Bytes of memory per byte of a text that is no UTF-8: U+FFFD has three, and a string that grows is
// there twice.
constexpr std::size_t kRepairedBytes = 9;

}  // namespace

struct Tokenizer::Ids {
  explicit Ids(WorkBudget& work) : memory(work) {}
  std::size_t bytes() const { return all.capacity() * sizeof(std::int32_t); }
  // charge() follows the adding of ids; is_charged() is true as a rule, so that a piece costs no
  // call.
  bool is_charged() const { return bytes() == memory.bytes(); }
  Status charge() { return memory.hold(bytes()); }
  std::vector<std::int32_t> all;
  MemoryCharge memory;
};

Tokenizer::Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  const Vocab& vocab = parts_.model->vocab();
  tokens_.resize(static_cast<std::size_t>(vocab.end_id()));
  for (std::size_t id = 0; id < tokens_.size(); ++id)
    tokens_[id].used = vocab.has(static_cast<std::int64_t>(id));
  for (const AddedToken& token : parts_.added_tokens.all()) {
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= tokens_.size()) tokens_.resize(id + 1);
    tokens_[id] = {true, token.special, static_cast<std::int32_t>(added_forms_.size())};
    // The ByteLevel decoder reads every token in the byte alphabet when it can, added ones too.
    auto bytes = parts_.decoder.takes_bytes() ? bytes_of_symbols(token.text) : std::nullopt;
    added_forms_.push_back(bytes ? std::move(*bytes) : token.text);
  }
  // If the vocabulary and the decoder disagree about the alphabet, tokens keep the converted form.
  if (vocab.byte_level() != parts_.decoder.takes_bytes()) {
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      if (!tokens_[id].used || tokens_[id].added >= 0) continue;
      std::string entry = vocab.entry(static_cast<std::int32_t>(id));
      auto bytes = parts_.decoder.takes_bytes() ? bytes_of_symbols(entry) : std::nullopt;
      tokens_[id].added = static_cast<std::int32_t>(added_forms_.size());
      added_forms_.push_back(bytes ? std::move(*bytes) : std::move(entry));
    }
  }
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text,
                                                    const EncodeOptions& options) const {
  if (options.budget != nullptr) return encode_within(text, options, *options.budget);
  WorkBudget work("text", text_limits(text.size()));
  return encode_within(text, options, work);
}

Result<std::vector<std::int32_t>> Tokenizer::encode_within(std::string_view text,
                                                           const EncodeOptions& options,
                                                           WorkBudget& work) const {
  ANEMONE_RETURN_IF_ERROR(work.spend(2 * text.size()));
  MemoryCharge memory(work);
  std::string repaired;
  if (!is_valid_utf8(text)) {
    ANEMONE_RETURN_IF_ERROR(memory.hold(kRepairedBytes * text.size()));
    repaired = replace_invalid_utf8(text);
    text = repaired;
  }
  Ids ids(work);
  if (options.add_special) ids.all = parts_.post_processor.before;
  if (!parts_.added_tokens.has_stage(AddedTokens::Stage::kRaw)) {
    ANEMONE_RETURN_IF_ERROR(encode_text(text, true, options.parse_special, ids, work));
  } else {
    ChargedVector<TextSpan> spans(work);
    ANEMONE_RETURN_IF_ERROR(parts_.added_tokens.split(text, AddedTokens::Stage::kRaw,
                                                      options.parse_special, spans, work));
    for (const TextSpan& span : spans) {
      if (span.id >= 0) {
        ids.all.push_back(span.id);
      } else {
        ANEMONE_RETURN_IF_ERROR(encode_text(text.substr(span.begin, span.end - span.begin),
                                            span.begin == 0, options.parse_special, ids, work));
      }
    }
  }
  if (options.add_special)
    ids.all.insert(ids.all.end(), parts_.post_processor.after.begin(),
                   parts_.post_processor.after.end());
  ANEMONE_RETURN_IF_ERROR(ids.charge());
  if (options.budget != nullptr) ids.memory.keep();
  return std::move(ids.all);
}

Status Tokenizer::encode_text(std::string_view text, bool at_start, bool parse_special, Ids& ids,
                              WorkBudget& work) const {
  MemoryCharge memory(work);
  std::string normalized;
  if (parts_.normalizer != nullptr) {
    ANEMONE_RETURN_IF_ERROR(work.spend(kPieceUnits));
    ANEMONE_RETURN_IF_ERROR(memory.hold(text.size()));
    normalized = text;
    ANEMONE_RETURN_IF_ERROR(parts_.normalizer->apply(normalized, memory, work));
    text = normalized;
  }
  if (!parts_.added_tokens.has_stage(AddedTokens::Stage::kNormalized))
    return encode_pieces(text, at_start, ids, work);
  ChargedVector<TextSpan> spans(work);
  ANEMONE_RETURN_IF_ERROR(
      parts_.added_tokens.split(text, AddedTokens::Stage::kNormalized, parse_special, spans, work));
  for (const TextSpan& span : spans) {
    if (span.id >= 0) {
      ids.all.push_back(span.id);
    } else {
      ANEMONE_RETURN_IF_ERROR(encode_pieces(text.substr(span.begin, span.end - span.begin),
                                            at_start && span.begin == 0, ids, work));
    }
  }
  return ids.charge();
}

Status Tokenizer::encode_pieces(std::string_view normalized, bool at_start, Ids& ids,
                                WorkBudget& work) const {
  if (normalized.empty()) return ok_status();
  PieceList list(work);
  ANEMONE_RETURN_IF_ERROR(list.pieces.push({normalized, at_start}));
  if (parts_.pre_tokenizer != nullptr)
    ANEMONE_RETURN_IF_ERROR(parts_.pre_tokenizer->apply(list, work));
  for (const Piece& piece : list.pieces) {
    ANEMONE_RETURN_IF_ERROR(work.spend(kPieceUnits + piece.text.size() * kUnitsPerByte));
    ANEMONE_RETURN_IF_ERROR(parts_.model->tokenize(piece.text, ids.all, work));
    if (!ids.is_charged()) ANEMONE_RETURN_IF_ERROR(ids.charge());
  }
  return ok_status();
}

Result<std::string> Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special,
                                      WorkBudget* budget) const {
  if (budget != nullptr) return decode_within(ids, skip_special, *budget);
  WorkBudget work("text", text_limits(ids.size()));
  return decode_within(ids, skip_special, work);
}

Result<std::string> Tokenizer::decode_within(std::span<const std::int32_t> ids, bool skip_special,
                                             WorkBudget& work) const {
  std::string out;
  const auto stream = make_decode_stream(work);
  for (const std::int32_t id : ids) {
    if (skip_special && is_special(id)) continue;
    if (const auto token = decoder_token(id)) ANEMONE_RETURN_IF_ERROR(stream->push(*token, out));
  }
  ANEMONE_RETURN_IF_ERROR(stream->finish(out));
  return out;
}

bool Tokenizer::has(std::int32_t id) const {
  return id >= 0 && id < vocab_size() && tokens_[static_cast<std::size_t>(id)].used;
}

std::optional<std::int32_t> Tokenizer::token_to_id(std::string_view token) const {
  if (const AddedToken* added = parts_.added_tokens.find(token)) return added->id;
  const std::int32_t id = parts_.model->vocab().find(token);
  return id < 0 ? std::nullopt : std::optional(id);
}

std::optional<std::string> Tokenizer::id_to_token(std::int32_t id) const {
  if (!has(id)) return std::nullopt;
  if (const AddedToken* added = parts_.added_tokens.find(id)) return added->text;
  return parts_.model->vocab().entry(id);
}

bool Tokenizer::is_special(std::int32_t id) const {
  return has(id) && tokens_[static_cast<std::size_t>(id)].special;
}

Result<std::string> Tokenizer::token_bytes(std::int32_t id, WorkBudget& work) const {
  const auto token = decoder_token(id);
  return token ? parts_.decoder.bytes_of(*token, work) : std::string();
}

std::optional<std::string_view> Tokenizer::decoder_token(std::int32_t id) const {
  if (!has(id)) return std::nullopt;
  const std::int32_t form = tokens_[static_cast<std::size_t>(id)].added;
  if (form >= 0) return added_forms_[static_cast<std::size_t>(form)];
  return parts_.model->vocab().bytes(id);
}

}  // namespace anemone::text
