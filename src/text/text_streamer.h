// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/tokenizer.h"

namespace anemone::text {

// Turns ids, as they are generated, into pieces of text. Each piece is valid UTF-8; half a
// character is held back. All pieces together equal Tokenizer::decode of all ids. Single-thread.
class TextStreamer {
 public:
  explicit TextStreamer(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = false);

  // The text that became certain with this id, often empty. Unknown ids give nothing.
  std::string push(std::int32_t id);
  // What was held back, with U+FFFD for a cut character. push() must not follow.
  std::string finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<DecodeStream> stream_;
  bool skip_special_;
};

}  // namespace anemone::text
