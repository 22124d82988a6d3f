// SPDX-License-Identifier: Apache-2.0
// Text <-> token ids, exactly as the Hugging Face tokenizers library reads the same tokenizer.json.
//
// The parts are those of the file: normalizer, added tokens, pre-tokenizer, model, post-processor,
// decoder. A part or an option that is not implemented is refused when the file is loaded, never
// approximated. Truncation and padding settings of the file are ignored.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_budget.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/post_processor.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/token_model.h"

namespace anemone::text {

struct EncodeOptions {
  bool add_special = false;   // add the tokens of the post-processor (often a bos)
  bool parse_special = true;  // false: special added tokens in the text are text; other added
                              // Budget of the request that the text belongs to, which may be null:
                              // the work counts against it, the memory while the call lasts, and
                              // that of the ids to the end of the request.
  WorkBudget* budget = nullptr;
};

// The parts of a tokenizer. normalizer and pre_tokenizer may be null.
struct TokenizerParts {
  std::unique_ptr<const Normalizer> normalizer;
  AddedTokens added_tokens;
  std::unique_ptr<const PreTokenizer> pre_tokenizer;
  std::unique_ptr<const TokenModel> model;
  PostProcessor post_processor;
  Decoder decoder;
};

// Immutable and thread-safe; shared by sessions.
class Tokenizer {
 public:
  // A folder that holds tokenizer.json, or the path of such a file. kIo, kParseError, kCorrupt for
  // a bad file, kUnsupported for a part that is not implemented.
  static Result<std::shared_ptr<const Tokenizer>> load(const std::string& path);
  // Loads a tokenizer from the text of the file; `subject` names it in errors.
  static Result<std::shared_ptr<const Tokenizer>> parse(std::string_view json,
                                                        std::string_view subject);
  explicit Tokenizer(TokenizerParts parts);

  // Any bytes are accepted: invalid UTF-8 counts as U+FFFD. kInvalidArgument when it takes more
  // than the budget, or without one more than text_limits() (text_work.h); kUnsupported when a
  // regex of the file needs more backtracking than its limit at one place.
  Result<std::vector<std::int32_t>> encode(std::string_view text,
                                           const EncodeOptions& options = {}) const;
  // Valid UTF-8, with U+FFFD where tokens cut a character. Unknown ids are skipped. The errors are
  // those of encode(); the text counts against the budget to its end.
  Result<std::string> decode(std::span<const std::int32_t> ids, bool skip_special = false,
                             WorkBudget* budget = nullptr) const;

  // One past the largest id. Ids below it may be unused.
  std::int32_t vocab_size() const { return static_cast<std::int32_t>(tokens_.size()); }
  bool has(std::int32_t id) const;
  // A token as written in tokenizer.json: in the byte alphabet if the vocabulary is.
  std::optional<std::int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(std::int32_t id) const;
  bool is_special(std::int32_t id) const;
  // The bytes that a token stands for, without regard to its neighbours; empty for an unknown id.
  // Spends `work`, one for all the tokens of an answer: the error when that is used up.
  Result<std::string> token_bytes(std::int32_t id, WorkBudget& work) const;

  // TextStreamer calls these: a stream over this tokenizer, and the form in which the stream takes
  // a token.
  std::unique_ptr<DecodeStream> make_decode_stream(WorkBudget& work) const {
    return parts_.decoder.make_stream(work);
  }
  // Valid as long as the tokenizer; nullopt for an unknown id.
  std::optional<std::string_view> decoder_token(std::int32_t id) const;

 private:
  struct Ids;  // charged to a budget
  Result<std::vector<std::int32_t>> encode_within(std::string_view text,
                                                  const EncodeOptions& options,
                                                  WorkBudget& work) const;
  Status encode_text(std::string_view text, bool at_start, bool parse_special, Ids& ids,
                     WorkBudget& work) const;
  Status encode_pieces(std::string_view normalized, bool at_start, Ids& ids,
                       WorkBudget& work) const;
  Result<std::string> decode_within(std::span<const std::int32_t> ids, bool skip_special,
                                    WorkBudget& work) const;

  struct Token {
    bool used = false;
    bool special = false;
    std::int32_t added = -1;  // index in added_forms_
  };

  TokenizerParts parts_;
  std::vector<Token> tokens_;             // by id
  std::vector<std::string> added_forms_;  // what the decoder takes for an added token
};

}  // namespace anemone::text
