// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"

namespace anemone::checkpoint::gguf {
namespace {

enum TokenType : std::int64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

constexpr std::size_t kMaxTokens = 1 << 22;
// All splits of a SentencePiece token into two halves are tried.
constexpr std::size_t kMaxPieceBytes = 256;
constexpr std::string_view kSpaceMark = "\u2581";

std::string quoted(std::string_view text) {
  return dump_json(Json(std::string(text)));
}

bool is_utf8(std::string_view text) {
  return Json::accept(quoted(text)) && Json::parse(quoted(text)).get<std::string>() == text;
}

// The tokens with what is known of each.
struct Tokens {
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> types;
  std::unordered_map<std::string_view, std::int64_t> ids;
};

Result<Tokens> read_tokens(const Metadata& metadata) {
  Tokens tokens;
  ANEMONE_ASSIGN_OR_RETURN(auto texts, metadata.texts("tokenizer.ggml.tokens"));
  if (!texts)
    return parse_error("[{}] expected tokenizer.ggml.tokens beside tokenizer.ggml.model, got none",
                       metadata.subject());
  tokens.texts = std::move(*texts);
  if (tokens.texts.size() > kMaxTokens)
    return corrupt("[{}] expected at most {} tokens, got {}", metadata.subject(), kMaxTokens,
                   tokens.texts.size());
  ANEMONE_ASSIGN_OR_RETURN(const auto types, metadata.integers("tokenizer.ggml.token_type"));
  tokens.types = types.value_or(std::vector<std::int64_t>(tokens.texts.size(), kNormal));
  if (tokens.types.size() != tokens.texts.size())
    return corrupt("[{}] expected {} values of tokenizer.ggml.token_type, got {}",
                   metadata.subject(), tokens.texts.size(), tokens.types.size());
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    // Rows of the embedding without a token are filled up with names.
    if (tokens.types[i] == kUnused) continue;
    if (!is_utf8(tokens.texts[i]))
      return corrupt("[{}] expected tokens in UTF-8, got other bytes (token {})",
                     metadata.subject(), i);
    if (!tokens.ids.emplace(tokens.texts[i], static_cast<std::int64_t>(i)).second)
      return corrupt("[{}] expected each token once, got \"{}\" twice", metadata.subject(),
                     tokens.texts[i]);
  }
  return tokens;
}

bool is_added(std::int64_t type, bool is_bpe) {
  return type == kControl || type == kUserDefined || (is_bpe && type == kUnknown);
}

// "added_tokens": control tokens are special, the user's own are not.
std::string added_tokens(const Tokens& tokens, bool is_bpe) {
  std::string out = "[";
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    const std::int64_t type = tokens.types[i];
    if (!is_added(type, is_bpe) && type != kUnknown) continue;
    if (out.size() > 1) out += ",";
    out += fmt::format(
        R"({{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":{}}})",
        i, quoted(tokens.texts[i]), type != kUserDefined);
  }
  return out + "]";
}

// `with_added`: SentencePiece has its special tokens in the vocabulary, too.
std::string vocabulary(const Tokens& tokens, bool with_added) {
  std::string out = "{";
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    if (tokens.types[i] == kUnused || (!with_added && is_added(tokens.types[i], true))) continue;
    if (out.size() > 1) out += ",";
    out += quoted(tokens.texts[i]);
    out += fmt::format(":{}", i);
  }
  return out + "}";
}

// bos and eos where the file asks for them; a ByteLevel one, which does nothing, elsewhere.
Result<Json> post_processor(const Metadata& metadata, const Tokens& tokens, bool adds_bos) {
  Json single = Json::array();
  Json special = Json::object();
  const auto add = [&](const char* name, bool by_default) -> Status {
    ANEMONE_ASSIGN_OR_RETURN(const auto wanted,
                             metadata.boolean(fmt::format("tokenizer.ggml.add_{}_token", name)));
    if (!wanted.value_or(by_default)) return {};
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    ANEMONE_ASSIGN_OR_RETURN(const auto id, metadata.integer(key));
    if (!id && !wanted) return {};
    if (!id || *id < 0 || static_cast<std::size_t>(*id) >= tokens.texts.size())
      return corrupt("[{}] expected {} to be the id of a token", metadata.subject(), key);
    const std::string text(tokens.texts[static_cast<std::size_t>(*id)]);
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    special[text] = {{"id", text}, {"ids", {*id}}, {"tokens", {text}}};
    return {};
  };
  ANEMONE_RETURN_IF_ERROR(add("bos", adds_bos));
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  ANEMONE_RETURN_IF_ERROR(add("eos", false));
  if (special.empty()) return Json();
  return Json{{"type", "TemplateProcessing"},
              {"single", single},
              {"pair", Json::array()},
              {"special_tokens", std::move(special)}};
}

struct Parts {
  Json normalizer;
  Json pre_tokenizer;
  Json decoder;
  Json post_processor;
  std::string model;
  std::string added;
};

std::string assemble(const Parts& parts) {
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},"pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{}}})",
      parts.added, dump_json(parts.normalizer), dump_json(parts.pre_tokenizer),
      dump_json(parts.post_processor), dump_json(parts.decoder), parts.model);
}

Json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", true},
          {"use_regex", use_regex}};
}

// tokenizer.ggml.merges as a JSON list.
Result<std::string> listed_merges(const Metadata& metadata) {
  ANEMONE_ASSIGN_OR_RETURN(const auto merges, metadata.texts("tokenizer.ggml.merges"));
  if (!merges)
    return parse_error("[{}] expected tokenizer.ggml.merges, got none", metadata.subject());
  std::string list = "[";
  for (const std::string_view merge : *merges) {
    if (list.size() > 1) list += ",";
    list += quoted(merge);
  }
  return list + "]";
}

Result<std::string> byte_level_bpe(const Metadata& metadata, const Tokens& tokens) {
  ANEMONE_ASSIGN_OR_RETURN(const auto name, metadata.text("tokenizer.ggml.pre"));
  const PreTokenizer* pre = find_pre_tokenizer(name.value_or("none"));
  if (pre == nullptr)
    return unsupported("[{}] expected a tokenizer.ggml.pre that is known here, got \"{}\"",
                       metadata.subject(), name.value_or("none"));
  ANEMONE_ASSIGN_OR_RETURN(const std::string merges, listed_merges(metadata));
  Parts parts;
  parts.added = added_tokens(tokens, true);
  if (pre->is_nfc) parts.normalizer = {{"type", "NFC"}};
  Json steps = Json::array();
  if (pre->has_single_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  for (const std::string_view pattern : pre->patterns)
    if (!pattern.empty())
      steps.push_back({{"type", "Split"},
                       {"pattern", {{"Regex", pattern}}},
                       {"behavior", "Isolated"},
                       {"invert", false}});
  steps.push_back(byte_level(pre->patterns.front().empty()));
  parts.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  parts.decoder = byte_level(true);
  ANEMONE_ASSIGN_OR_RETURN(parts.post_processor, post_processor(metadata, tokens, pre->adds_bos));
  parts.model = fmt::format(
      R"({{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":{},"vocab":{},"merges":{}}})",
      pre->ignore_merges, vocabulary(tokens, false), merges);
  return assemble(parts);
}

// SentencePiece joins the pair whose joined piece has the highest score: as merges, all pairs of
// pieces that make a piece, by its score; pairs of one piece by their ids, as transformers does.
Result<std::string> merges_by_score(const Metadata& metadata, const Tokens& tokens) {
  ANEMONE_ASSIGN_OR_RETURN(const auto scores, metadata.floats("tokenizer.ggml.scores"));
  if (!scores || scores->size() != tokens.texts.size())
    return corrupt("[{}] expected {} values of tokenizer.ggml.scores, one per token",
                   metadata.subject(), tokens.texts.size());
  struct Merge {
    float score;
    std::int64_t left;
    std::int64_t right;
  };
  std::vector<Merge> merges;
  for (std::size_t i = 0; i < tokens.texts.size(); ++i) {
    const std::string_view text = tokens.texts[i];
    if (tokens.types[i] != kNormal && tokens.types[i] != kUserDefined) continue;
    if (text.size() > kMaxPieceBytes || std::isnan((*scores)[i]))
      return corrupt("[{}] expected pieces of at most {} bytes with a score, got token {}",
                     metadata.subject(), kMaxPieceBytes, i);
    const auto first = static_cast<std::ptrdiff_t>(merges.size());
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) continue;  // in a character
      const auto left = tokens.ids.find(text.substr(0, cut));
      if (left == tokens.ids.end()) continue;
      const auto right = tokens.ids.find(text.substr(cut));
      if (right == tokens.ids.end()) continue;
      merges.push_back({(*scores)[i], left->second, right->second});
    }
    std::sort(merges.begin() + first, merges.end(), [](const Merge& a, const Merge& b) {
      return std::pair(a.left, a.right) < std::pair(b.left, b.right);
    });
  }
  std::ranges::stable_sort(merges, std::greater<>(), &Merge::score);
  std::string out = "[";
  for (const Merge& merge : merges)
    out += fmt::format("{}[{},{}]", out.size() > 1 ? "," : "",
                       quoted(tokens.texts[static_cast<std::size_t>(merge.left)]),
                       quoted(tokens.texts[static_cast<std::size_t>(merge.right)]));
  return out + "]";
}

// `has_merges`: they are listed, and scores have no meaning.
Result<std::string> sentence_piece_bpe(const Metadata& metadata, const Tokens& tokens,
                                       bool has_merges) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string merges, has_merges
                                                         ? listed_merges(metadata)
                                                         : merges_by_score(metadata, tokens));
  ANEMONE_ASSIGN_OR_RETURN(const auto prefix, metadata.boolean("tokenizer.ggml.add_space_prefix"));
  const Json to_mark = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpaceMark}};
  const Json from_mark = {
      {"type", "Replace"}, {"pattern", {{"String", kSpaceMark}}}, {"content", " "}};
  Parts parts;
  parts.added = added_tokens(tokens, false);
  Json normalizers = Json::array();
  Json decoders = {from_mark, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (prefix.value_or(true)) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(to_mark);
  parts.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
  parts.decoder = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  ANEMONE_ASSIGN_OR_RETURN(parts.post_processor, post_processor(metadata, tokens, true));
  std::string unknown = "null";
  const auto it = std::ranges::find(tokens.types, kUnknown);
  if (it != tokens.types.end())
    unknown = quoted(tokens.texts[static_cast<std::size_t>(it - tokens.types.begin())]);
  parts.model = fmt::format(
      R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"vocab":{},"merges":{}}})",
      unknown, vocabulary(tokens, true), merges);
  return assemble(parts);
}

Result<Json> tokenizer_config(const Metadata& metadata, const Tokens& tokens) {
  Json config = Json::object();
  for (const char* name : {"bos", "eos"}) {
    ANEMONE_ASSIGN_OR_RETURN(const auto id,
                             metadata.integer(fmt::format("tokenizer.ggml.{}_token_id", name)));
    if (id && *id >= 0 && static_cast<std::size_t>(*id) < tokens.texts.size())
      config[fmt::format("{}_token", name)] = tokens.texts[static_cast<std::size_t>(*id)];
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto source, metadata.text("tokenizer.chat_template"));
  ANEMONE_ASSIGN_OR_RETURN(const auto tool_use, metadata.text("tokenizer.chat_template.tool_use"));
  if (tool_use) {
    Json list = Json::array();
    if (source) list.push_back({{"name", "default"}, {"template", *source}});
    list.push_back({{"name", "tool_use"}, {"template", *tool_use}});
    config["chat_template"] = std::move(list);
  } else if (source) {
    config["chat_template"] = *source;
  }
  return config;
}

}  // namespace

Result<Json> make_tokenizer_config(const Metadata& metadata) {
  ANEMONE_ASSIGN_OR_RETURN(const Tokens tokens, read_tokens(metadata));
  return tokenizer_config(metadata, tokens);
}

Result<std::vector<TextFile>> make_text_files(const Metadata& metadata) {
  std::vector<TextFile> files;
  ANEMONE_ASSIGN_OR_RETURN(const auto model, metadata.text("tokenizer.ggml.model"));
  if (!model || *model == "none" || *model == "no_vocab") return files;
  if (*model != "gpt2" && *model != "llama" && *model != "gemma4")
    return unsupported("[{}] expected tokenizer.ggml.model to be gpt2, llama or gemma4, got \"{}\"",
                       metadata.subject(), *model);
  ANEMONE_ASSIGN_OR_RETURN(const Tokens tokens, read_tokens(metadata));
  ANEMONE_ASSIGN_OR_RETURN(std::string tokenizer,
                           *model == "gpt2"
                               ? byte_level_bpe(metadata, tokens)
                               : sentence_piece_bpe(metadata, tokens, *model == "gemma4"));
  ANEMONE_ASSIGN_OR_RETURN(const Json config, tokenizer_config(metadata, tokens));
  files.push_back({"tokenizer.json", std::move(tokenizer)});
  files.push_back({"tokenizer_config.json", dump_json(config, 2) + "\n"});
  return files;
}

}  // namespace anemone::checkpoint::gguf
