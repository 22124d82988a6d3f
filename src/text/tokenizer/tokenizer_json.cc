// SPDX-License-Identifier: Apache-2.0
// Tokenizer::load and parse: reads a tokenizer.json. The file may have 20 MB, so it goes through
// simdjson; its small parts are handed on as Json.
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <simdjson.h>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/inner_file.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/unigram.h"

namespace anemone::text {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// The largest in use have 40 MB. The parser takes up to seventeen bytes for one of the file.
constexpr std::uint64_t kMaxFileBytes = 64ULL << 20;
constexpr std::size_t kMaxDepth = 64;
// Most steps of normalizer, pre-tokenizer, post-processor and decoder together, those of Sequences
// included: each step goes through every text. Real tokenizers have fewer than 30.
constexpr std::size_t kMaxSteps = 256;
// Most bytes of one such part, written without white space: as Json it takes about a hundred times
// that.
constexpr std::size_t kMaxPartBytes = std::size_t{4} << 20;

// The member of that name, or nullopt when it is absent or null.
std::optional<element> member(const object& parent, std::string_view key) {
  element value;
  if (parent.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

Result<Json> as_json(const element& value, std::string_view subject) {
  return parse_json(simdjson::minify(value), subject);
}

Result<std::optional<Json>> json_part(const object& root, std::string_view key) {
  const auto value = member(root, key);
  if (!value) return std::optional<Json>();
  ANEMONE_ASSIGN_OR_RETURN(Json json, as_json(*value, key));
  return std::optional(std::move(json));
}

// The steps that `part` is or holds. `list`: the name of the list of a Sequence.
std::size_t count_steps(const element& part, std::string_view list) {
  object members;
  simdjson::dom::array steps;
  if (part.get(members) != simdjson::SUCCESS ||
      members.at_key(list).get(steps) != simdjson::SUCCESS)
    return 1;
  std::size_t count = 1;
  for (const element step : steps) count += count_steps(step, list);
  return count;
}

Status check_steps(const object& root) {
  constexpr std::array<std::array<std::string_view, 2>, 4> kParts = {
      {{"normalizer", "normalizers"},
       {"pre_tokenizer", "pretokenizers"},
       {"post_processor", "processors"},
       {"decoder", "decoders"}}};
  std::size_t steps = 0;
  for (const auto& [name, list] : kParts) {
    const auto part = member(root, name);
    if (!part) continue;
    steps += count_steps(*part, list);
    if (steps > kMaxSteps)
      return unsupported(
          "[tokenizer] expected at most {} steps of normalizer, pre_tokenizer, post_processor and "
          "decoder together, got {} or more",
          kMaxSteps, steps);
    if (const std::size_t bytes = simdjson::minify(*part).size(); bytes > kMaxPartBytes)
      return unsupported("[{}] expected at most {} bytes, got {}", name, kMaxPartBytes, bytes);
  }
  return ok_status();
}

Result<bool> flag(const object& parent, std::string_view key, bool fallback) {
  const auto value = member(parent, key);
  if (!value) return fallback;
  bool out = false;
  if (value->get(out) != simdjson::SUCCESS)
    return parse_error("[model] expected {} to be true or false", key);
  return out;
}

Result<std::string> text_option(const object& parent, std::string_view key) {
  const auto value = member(parent, key);
  if (!value) return std::string();
  std::string_view out;
  if (value->get(out) != simdjson::SUCCESS)
    return parse_error("[model] expected {} to be a string", key);
  return std::string(out);
}

Result<Vocab> read_bpe_vocab(const object& model, bool byte_level) {
  object entries;
  if (model.at_key("vocab").get(entries) != simdjson::SUCCESS)
    return parse_error("[model] expected an object \"vocab\"");
  Vocab vocab(byte_level);
  const std::size_t count = entries.size();  // saturates at 2^24 - 1: only a hint
  vocab.reserve(count, count * 8);
  // An entry's cache line is fetched some entries before it is needed.
  constexpr int kAhead = 16;
  auto ahead = entries.begin();
  for (int i = 0; i < kAhead && ahead != entries.end(); ++i) ++ahead;
  std::string scratch;
  for (const auto entry : entries) {
    if (ahead != entries.end()) {
      scratch.clear();
      if (!byte_level) scratch = ahead.key();
      if (!byte_level || append_bytes_of_symbols(ahead.key(), scratch)) vocab.prefetch(scratch);
      ++ahead;
    }
    std::int64_t id = 0;
    if (entry.value.get(id) != simdjson::SUCCESS)
      return parse_error("[vocab] expected integer ids, got another value (entry \"{}\")",
                         entry.key);
    ANEMONE_RETURN_IF_ERROR(vocab.add(entry.key, id));
  }
  return vocab;
}

// A merge is "left right" or ["left", "right"].
Status add_merge(const element& merge, Bpe::Builder& builder) {
  std::string_view left;
  if (merge.get(left) == simdjson::SUCCESS) {
    if (left.starts_with("#version")) return ok_status();
    const auto space = left.find(' ');
    if (space == left.npos || left.find(' ', space + 1) != left.npos)
      return parse_error("[merges] expected two parts and one space, got \"{}\"", left);
    return builder.add_merge(left.substr(0, space), left.substr(space + 1));
  }
  simdjson::dom::array pair;
  std::string_view right;
  if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
      pair.at(0).get(left) != simdjson::SUCCESS || pair.at(1).get(right) != simdjson::SUCCESS)
    return parse_error("[merges] expected a string or a pair of strings");
  return builder.add_merge(left, right);
}

Result<std::unique_ptr<const TokenModel>> read_bpe(const object& model, bool byte_level) {
  if (const auto dropout = member(model, "dropout")) {
    double value = 0;
    if (dropout->get(value) != simdjson::SUCCESS || value != 0)
      return unsupported("[model BPE] expected no dropout");
  }
  BpeOptions options;
  ANEMONE_ASSIGN_OR_RETURN(options.unk_token, text_option(model, "unk_token"));
  ANEMONE_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                           text_option(model, "continuing_subword_prefix"));
  ANEMONE_ASSIGN_OR_RETURN(options.end_of_word_suffix, text_option(model, "end_of_word_suffix"));
  ANEMONE_ASSIGN_OR_RETURN(options.fuse_unk, flag(model, "fuse_unk", false));
  ANEMONE_ASSIGN_OR_RETURN(options.byte_fallback, flag(model, "byte_fallback", false));
  ANEMONE_ASSIGN_OR_RETURN(options.ignore_merges, flag(model, "ignore_merges", false));
  ANEMONE_ASSIGN_OR_RETURN(Vocab vocab, read_bpe_vocab(model, byte_level));
  simdjson::dom::array merges;
  if (model.at_key("merges").get(merges) != simdjson::SUCCESS)
    return parse_error("[model] expected a list \"merges\"");
  Bpe::Builder builder(std::move(vocab), std::move(options));
  std::size_t count = 0;
  for ([[maybe_unused]] const element merge : merges) ++count;  // size() saturates at 2^24 - 1
  builder.reserve(count);
  for (const element merge : merges) ANEMONE_RETURN_IF_ERROR(add_merge(merge, builder));
  ANEMONE_ASSIGN_OR_RETURN(std::unique_ptr<const TokenModel> built, std::move(builder).build());
  return built;
}

Result<std::unique_ptr<const TokenModel>> read_unigram(const object& model, bool byte_level) {
  if (byte_level)
    return unsupported("[model Unigram] expected no ByteLevel pre-tokenizer, got one");
  simdjson::dom::array entries;
  if (model.at_key("vocab").get(entries) != simdjson::SUCCESS)
    return parse_error("[model] expected a list \"vocab\"");
  Vocab vocab;
  std::vector<double> scores;
  for (const element entry : entries) {
    simdjson::dom::array pair;
    std::string_view piece;
    double score = 0;
    if (entry.get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get(piece) != simdjson::SUCCESS || pair.at(1).get(score) != simdjson::SUCCESS ||
        !std::isfinite(score))
      return parse_error("[vocab] expected [text, score] (entry {})", scores.size());
    ANEMONE_RETURN_IF_ERROR(vocab.add(piece, static_cast<std::int64_t>(scores.size())));
    scores.push_back(score);
  }
  std::int64_t unk_id = -1;
  if (const auto value = member(model, "unk_id"); value && value->get(unk_id) != simdjson::SUCCESS)
    return parse_error("[model] expected unk_id to be an integer");
  if (unk_id < -1 || unk_id > kMaxTokenId)
    return corrupt("[model] expected unk_id in the vocabulary, got {}", unk_id);
  ANEMONE_ASSIGN_OR_RETURN(const bool byte_fallback, flag(model, "byte_fallback", false));
  ANEMONE_ASSIGN_OR_RETURN(std::unique_ptr<const TokenModel> built,
                           Unigram::build(std::move(vocab), std::move(scores),
                                          static_cast<std::int32_t>(unk_id), byte_fallback));
  return built;
}

Result<std::unique_ptr<const TokenModel>> read_model(const object& root, bool byte_level) {
  object model;
  if (root.at_key("model").get(model) != simdjson::SUCCESS)
    return parse_error("[tokenizer] expected an object \"model\"");
  ANEMONE_ASSIGN_OR_RETURN(const std::string type, text_option(model, "type"));
  // Old files have no type; what they hold tells.
  if (type == "BPE" || (type.empty() && member(model, "merges")))
    return read_bpe(model, byte_level);
  if (type == "Unigram") return read_unigram(model, byte_level);
  return unsupported("[model] expected BPE or Unigram, got {}", type.empty() ? "no type" : type);
}

Result<AddedToken> read_added_token(const Json& json, const Vocab& vocab) {
  AddedToken token;
  ANEMONE_ASSIGN_OR_RETURN(const auto id, json_int(json, "id", "added_tokens"));
  ANEMONE_ASSIGN_OR_RETURN(const auto content, json_string(json, "content", "added_tokens"));
  if (!id || !content) return parse_error("[added_tokens] expected id and content");
  token.content = *content;
  const auto read_flag = [&](std::string_view key, bool& out) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const auto value, json_bool(json, key, "added_tokens"));
    out = value.value_or(false);
    return ok_status();
  };
  ANEMONE_RETURN_IF_ERROR(read_flag("single_word", token.single_word));
  ANEMONE_RETURN_IF_ERROR(read_flag("lstrip", token.lstrip));
  ANEMONE_RETURN_IF_ERROR(read_flag("rstrip", token.rstrip));
  ANEMONE_RETURN_IF_ERROR(read_flag("normalized", token.normalized));
  ANEMONE_RETURN_IF_ERROR(read_flag("special", token.special));
  if (*id < 0 || *id > kMaxTokenId)
    return corrupt("[added_tokens] expected an id from 0 to {}, got {} (\"{}\")", kMaxTokenId, *id,
                   token.content);
  token.id = static_cast<std::int32_t>(*id);
  const std::int32_t entry = vocab.find(token.content);
  if (entry >= 0 ? entry != token.id : vocab.has(token.id))
    return corrupt("[added_tokens] expected the id of the vocabulary, got {} (\"{}\")", token.id,
                   token.content);
  return token;
}

Result<AddedTokens> read_added_tokens(const object& root, const Vocab& vocab,
                                      const Normalizer* normalizer) {
  ANEMONE_ASSIGN_OR_RETURN(const auto json, json_part(root, "added_tokens"));
  std::vector<AddedToken> tokens;
  if (json) {
    if (!json->is_array()) return parse_error("[tokenizer] expected added_tokens to be a list");
    for (const Json& item : *json) {
      ANEMONE_ASSIGN_OR_RETURN(AddedToken token, read_added_token(item, vocab));
      tokens.push_back(std::move(token));
    }
  }
  return AddedTokens::build(std::move(tokens), normalizer);
}

Status check_ids(const std::vector<std::int32_t>& ids, const TokenizerParts& parts) {
  for (const std::int32_t id : ids)
    if (!parts.model->vocab().has(id) && parts.added_tokens.find(id) == nullptr)
      return corrupt("[post_processor] expected a known token id, got {}", id);
  return ok_status();
}

Result<TokenizerParts> read_parts(const object& root) {
  TokenizerParts parts;
  ANEMONE_RETURN_IF_ERROR(check_steps(root));
  ANEMONE_ASSIGN_OR_RETURN(const auto normalizer, json_part(root, "normalizer"));
  if (normalizer) {
    ANEMONE_ASSIGN_OR_RETURN(parts.normalizer, parse_normalizer(*normalizer));
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto pre_tokenizer, json_part(root, "pre_tokenizer"));
  bool byte_level = false;
  if (pre_tokenizer) {
    ANEMONE_ASSIGN_OR_RETURN(ParsedPreTokenizer parsed, parse_pre_tokenizer(*pre_tokenizer));
    parts.pre_tokenizer = std::move(parsed.steps);
    byte_level = parsed.byte_level;
  }
  ANEMONE_ASSIGN_OR_RETURN(parts.model, read_model(root, byte_level));
  ANEMONE_ASSIGN_OR_RETURN(parts.added_tokens,
                           read_added_tokens(root, parts.model->vocab(), parts.normalizer.get()));
  ANEMONE_ASSIGN_OR_RETURN(const auto post_processor, json_part(root, "post_processor"));
  if (post_processor) {
    ANEMONE_ASSIGN_OR_RETURN(parts.post_processor, parse_post_processor(*post_processor));
  }
  ANEMONE_RETURN_IF_ERROR(check_ids(parts.post_processor.before, parts));
  ANEMONE_RETURN_IF_ERROR(check_ids(parts.post_processor.after, parts));
  ANEMONE_ASSIGN_OR_RETURN(const auto decoder, json_part(root, "decoder"));
  ANEMONE_ASSIGN_OR_RETURN(parts.decoder, Decoder::parse(decoder ? &*decoder : nullptr));
  return parts;
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::parse(std::string_view json,
                                                          std::string_view subject) {
  // The parser may read a little beyond the end.
  std::string padded;
  padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  padded = json;
  simdjson::dom::parser parser;
  if (parser.allocate(padded.size(), kMaxDepth) != simdjson::SUCCESS)
    return out_of_memory("[{}] cannot allocate the parser", subject);
  object root;
  const auto error = parser.parse(padded.data(), padded.size(), false).get(root);
  if (error != simdjson::SUCCESS)
    return parse_error("[{}] expected a JSON object: {}", subject, simdjson::error_message(error));
  auto parts = read_parts(root);
  if (!parts.ok()) return parts.status().with(fmt::format("in {}", subject));
  return std::make_shared<const Tokenizer>(std::move(parts).value());
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  std::string name = path;
  if (folder) {
    ANEMONE_ASSIGN_OR_RETURN(name, inner_file(path, "tokenizer.json"));
  }
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, read_file(name, kMaxFileBytes));
  return parse(text, name);
}

}  // namespace anemone::text
