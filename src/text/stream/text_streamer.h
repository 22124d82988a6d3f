// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace anemone::text {

struct StreamOptions {
  bool skip_special = false;
  // Special tokens, in order, that give text although the others are skipped.
  std::vector<std::int32_t> kept_special = {};
  const std::atomic<bool>* cancel = nullptr;  // may be null; outlives the streamer
};

// Turns ids, as they are generated, into pieces of text. Each piece is valid UTF-8; half a
// character is held back. All pieces together equal Tokenizer::decode of all ids. Not thread-safe.
//
// The pieces of an answer share one budget (kAnswerLimits in text_work.h), which counts the time of
// the calls alone: kInvalidArgument when it is used up, kCancelled when the flag is set, and
// kUnsupported when a regex needs more backtracking than its limit. No call may follow an error.
class TextStreamer {
 public:
  explicit TextStreamer(std::shared_ptr<const Tokenizer> tokenizer,
                        const StreamOptions& options = {});

  // The text that became certain with this id, often empty. Unknown ids give nothing.
  Result<std::string> push(std::int32_t id);
  // What was held back, with U+FFFD for a cut character. push() must not follow.
  Result<std::string> finish();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<WorkBudget> work_;
  std::unique_ptr<DecodeStream> stream_;
  bool skip_special_;
  std::vector<std::int32_t> kept_special_;
};

}  // namespace anemone::text
