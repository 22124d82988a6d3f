// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/gguf/gguf_value.h"

namespace anemone::checkpoint::gguf {

// How text is cut before BPE, by tokenizer.ggml.pre.
struct PreTokenizer {
  std::string_view name;
  // Regular expressions of Split pre-tokenizers, applied in turn; none for the rule that ByteLevel
  // itself has (GPT-2).
  std::array<std::string_view, 3> patterns = {};
  bool is_nfc = false;
  bool has_single_digits = false;  // digits are cut one by one before
  bool ignore_merges = false;      // what is a token as a whole stays one
  bool adds_bos = false;           // where the file does not say
};
// nullptr for names that are not known.
const PreTokenizer* find_pre_tokenizer(std::string_view name);

// tokenizer.json and tokenizer_config.json (special tokens, chat template) as transformers would
// have them, from the metadata "tokenizer.*". None when there is no tokenizer. kUnsupported, naming
// what is missing, for models other than "gpt2",
// "llama" and "gemma4" and for an unknown pre-tokenizer.
Result<std::vector<TextFile>> make_text_files(const Metadata& metadata);

// tokenizer_config.json alone, whatever the tokenizer's model.
Result<Json> make_tokenizer_config(const Metadata& metadata);

}  // namespace anemone::checkpoint::gguf
