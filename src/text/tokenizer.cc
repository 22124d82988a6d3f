// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/byte_level.h"
#include "text/text_work.h"
#include "text/utf8.h"

namespace anemone::text {
namespace {

// What encoding takes at most per byte of a text: matches, pieces, merges and ids.
constexpr std::size_t kBytesPerByte = 16;
// Of the work on a piece.
constexpr std::size_t kPieceUnits = 50;
constexpr std::size_t kUnitsPerByte = 10;

}  // namespace

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
  // Where the vocabulary and the decoder disagree about the alphabet, keep the converted form.
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
  if (options.budget == nullptr) {
    WorkBudget work("text", text_limits(text.size()));
    return encode_within(text, options, work);
  }
  const std::size_t bytes = text.size() * kBytesPerByte;
  ANEMONE_RETURN_IF_ERROR(options.budget->take(bytes));
  auto ids = encode_within(text, options, *options.budget);
  options.budget->give_back(bytes);
  return ids;
}

Result<std::vector<std::int32_t>> Tokenizer::encode_within(std::string_view text,
                                                           const EncodeOptions& options,
                                                           WorkBudget& work) const {
  ANEMONE_RETURN_IF_ERROR(work.spend(2 * text.size()));
  std::string repaired;
  if (!is_valid_utf8(text)) {
    repaired = replace_invalid_utf8(text);
    text = repaired;
  }
  std::vector<std::int32_t> ids;
  if (options.add_special) ids = parts_.post_processor.before;
  if (!parts_.added_tokens.has_stage(AddedTokens::Stage::kRaw)) {
    ANEMONE_RETURN_IF_ERROR(encode_text(text, true, options.parse_special, ids, work));
  } else {
    std::vector<TextSpan> spans;
    parts_.added_tokens.split(text, AddedTokens::Stage::kRaw, options.parse_special, spans);
    for (const TextSpan& span : spans) {
      if (span.id >= 0) {
        ids.push_back(span.id);
      } else {
        ANEMONE_RETURN_IF_ERROR(encode_text(text.substr(span.begin, span.end - span.begin),
                                            span.begin == 0, options.parse_special, ids, work));
      }
    }
  }
  if (options.add_special)
    ids.insert(ids.end(), parts_.post_processor.after.begin(), parts_.post_processor.after.end());
  return ids;
}

Status Tokenizer::encode_text(std::string_view text, bool at_start, bool parse_special,
                              std::vector<std::int32_t>& ids, WorkBudget& work) const {
  std::string normalized;
  if (parts_.normalizer != nullptr) {
    normalized = text;
    ANEMONE_RETURN_IF_ERROR(parts_.normalizer->apply(normalized, work));
    text = normalized;
  }
  if (!parts_.added_tokens.has_stage(AddedTokens::Stage::kNormalized))
    return encode_pieces(text, at_start, ids, work);
  std::vector<TextSpan> spans;
  parts_.added_tokens.split(text, AddedTokens::Stage::kNormalized, parse_special, spans);
  for (const TextSpan& span : spans) {
    if (span.id >= 0) {
      ids.push_back(span.id);
    } else {
      ANEMONE_RETURN_IF_ERROR(encode_pieces(text.substr(span.begin, span.end - span.begin),
                                            at_start && span.begin == 0, ids, work));
    }
  }
  return ok_status();
}

Status Tokenizer::encode_pieces(std::string_view normalized, bool at_start,
                                std::vector<std::int32_t>& ids, WorkBudget& work) const {
  if (normalized.empty()) return ok_status();
  if (parts_.pre_tokenizer == nullptr) return parts_.model->tokenize(normalized, ids, work);
  PieceList list;
  list.pieces.push_back({normalized, at_start});
  ANEMONE_RETURN_IF_ERROR(parts_.pre_tokenizer->apply(list, work));
  for (const Piece& piece : list.pieces) {
    ANEMONE_RETURN_IF_ERROR(work.spend(kPieceUnits + piece.text.size() * kUnitsPerByte));
    ANEMONE_RETURN_IF_ERROR(parts_.model->tokenize(piece.text, ids, work));
  }
  return ok_status();
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  std::string out;
  const auto stream = make_decode_stream();
  for (const std::int32_t id : ids) {
    if (skip_special && is_special(id)) continue;
    if (const auto token = decoder_token(id)) stream->push(*token, out);
  }
  stream->finish(out);
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

std::string Tokenizer::token_bytes(std::int32_t id) const {
  const auto token = decoder_token(id);
  return token ? parts_.decoder.bytes_of(*token) : std::string();
}

std::optional<std::string_view> Tokenizer::decoder_token(std::int32_t id) const {
  if (!has(id)) return std::nullopt;
  const std::int32_t form = tokens_[static_cast<std::size_t>(id)].added;
  if (form >= 0) return added_forms_[static_cast<std::size_t>(form)];
  return parts_.model->vocab().bytes(id);
}

}  // namespace anemone::text
