// SPDX-License-Identifier: Apache-2.0
// From tokens back to text. Decoding a whole list is feeding a DecodeStream to its end, so
// streaming and whole decoding cannot differ.
#pragma once

#include <anemone/status.h>

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "text/tokenizer/pattern.h"

namespace anemone::text {

// Decodes the tokens of one text, in order. Single-thread; the Decoder and the budget must outlive
// it. The errors are those of the budget, and kUnsupported when a regex needs more backtracking
// than its limit: then the stream is spent.
class DecodeStream {
 public:
  virtual ~DecodeStream() = default;
  // Takes the next token and appends the text that is certain now: always whole characters. Text
  // waits while a token to come could change it (half a character, a run of byte tokens).
  virtual Status push(std::string_view token, std::string& out) = 0;
  // Appends what still waits; cut sequences become U+FFFD. The stream is spent afterwards.
  virtual Status finish(std::string& out) = 0;
};

// Immutable, thread-safe.
class Decoder {
 public:
  // The "decoder" of a tokenizer.json: ByteLevel, ByteFallback, Replace, Fuse, Strip, Metaspace and
  // Sequence; null joins tokens with spaces. kUnsupported names any other, and orders of steps that
  // would need the whole text at once.
  static Result<Decoder> parse(const Json* json);

  // All tokens of the text spend `work`.
  std::unique_ptr<DecodeStream> make_stream(WorkBudget& work) const;
  // True: tokens are pushed as the bytes they stand for. False: as the file writes them.
  bool takes_bytes() const;
  // What one token stands for, without regard to its neighbours. Errors as those of a stream.
  Result<std::string> bytes_of(std::string_view token, WorkBudget& work) const;

  struct ByteLevelStep {};
  struct ByteFallbackStep {};
  struct FuseStep {};
  struct JoinStep {};  // no decoder at all
  struct ReplaceStep {
    Pattern pattern;
    std::string content;
  };
  struct StripStep {
    std::string content;  // one character
    std::size_t start;
    std::size_t stop;
    bool fused;  // tokens are fragments of one text by now
  };
  struct MetaspaceStep {
    std::string replacement;
    bool drop_first;
  };
  using Step = std::variant<ByteLevelStep, ByteFallbackStep, FuseStep, JoinStep, ReplaceStep,
                            StripStep, MetaspaceStep>;

 private:
  Status add_step(const Json& json);
  std::vector<Step> steps_;
  bool fused_ = false;
};

}  // namespace anemone::text
