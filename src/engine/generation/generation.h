// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/constraint/constraint.h"
#include "engine/constraint/stage_counts.h"
#include "engine/generation/repeat_stop.h"
#include "engine/model/model.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/sampler.h"
#include "engine/session/sequence.h"
#include "engine/session/step_runner.h"
#include "text/stream/stop_strings.h"
#include "text/stream/text_streamer.h"

namespace anemone::engine {

enum class FinishReason {
  kStop,       // an end-of-text token or a stop string
  kRepeat,     // stop_repeat_ngram
  kLength,     // max_new_tokens, or the context is full
  kCancelled,  // the cancel flag
};
std::string_view finish_reason_name(FinishReason reason);  // "stop", "repeat", ...

struct TextPiece {
  std::int32_t id = 0;    // the token that made the text certain; of the last piece: the last token
  std::string_view text;  // valid UTF-8, never half a character, may be empty
  const TokenLogprobs* logprobs = nullptr;  // when they were asked for and a token was picked
  bool is_token = true;  // false: what was still held back at the end, of a token that came before
};

struct GenerateOptions {
  static constexpr std::int64_t kUntilFull = -1;

  std::int64_t max_new_tokens = kUntilFull;  // 0: only read the prompt
  SamplingOptions sampling;
  std::vector<std::string> stop;  // stop strings; they need a tokenizer
  bool ignore_eos = false;
  // N > 0: the text ends when its last N tokens are a run that it holds already. 0: off.
  std::int64_t stop_repeat_ngram = 0;
  // Log-probabilities of every token and of so many alternatives; 0: of the token alone.
  std::optional<std::int64_t> top_logprobs;
  // What the text has to be; the options of several texts may hold copies. It needs logits. The
  // text ends where nothing can follow.
  std::optional<Constraint> constraint;
  // false: they are in the pieces alone and not in the result, for whoever does not need them
  // twice.
  bool collects_logprobs = true;
  // true: tokens are decoded (special ones give no text) and padding rows of the vocabulary are
  // never picked. false: the result has ids only, over all columns of the logits. A model without a
  // tokenizer counts as false.
  bool as_text = true;
  // Special tokens, in order, that give text all the same: the markers of the parts of an answer.
  std::vector<std::int32_t> kept_special;
  const std::atomic<bool>* cancel = nullptr;  // of the request; decoding polls it, too; may be null
  // Called for every token, and once more when the end sets text free that was held back.
  // An error ends the text and is its result.
  std::function<Status(const TextPiece&)> on_piece;
  // Asked after every token, once on_piece has it; true: the text is complete.
  std::function<bool()> is_complete;
  // Called for every position of the prompt in order; then nothing of it is reused.
  LogitsCallback on_prompt_logits;
  // Called after every step that reads the prompt.
  std::function<void(std::int64_t done, std::int64_t total)> on_prefill_progress;
  // Asked before each step and each proposed token: the text waits while its sink has no room.
  std::function<bool()> is_paused;
};

struct Timing {
  std::int64_t prompt_tokens = 0;
  std::int64_t reused_tokens = 0;  // of them, in the caches already
  double prefill_s = 0;
  std::int64_t new_tokens = 0;
  std::int64_t decode_steps = 0;  // the first token comes from the prefill
  double decode_s = 0;            // of the steps, sampling included
  // Tokens that were proposed, and those of them that a step took over: it made one token more for
  // each.
  std::int64_t proposed_tokens = 0;
  std::int64_t accepted_tokens = 0;

  // Tokens per second; 0 where there was nothing to measure.
  double prefill_tok_s() const;
  double decode_tok_s() const;
};

struct GenerateResult {
  std::vector<std::int32_t> ids;        // as picked, an end-of-text token at the end included
  std::string text;                     // what on_piece was given
  std::vector<TokenLogprobs> logprobs;  // one per id, when top_logprobs is set and collected
  FinishReason finish = FinishReason::kLength;
  std::string stop;                   // the stop string that ended the text, or empty
  std::optional<StageCounts> stages;  // of an answer in stages
  Timing timing;
};

// One answer while it is made: picks tokens, streams their text and decides when it ends. Runs
// nothing itself: its owner runs pending() in whatever sequence and company, and hands over what
// the model said. Single-thread.
class Generation {
 public:
  // Whoever runs it has `prompt` run first, then pending() again and again. kInvalidArgument for an
  // option out of range or stop strings without a tokenizer, kUnsupported for options that need
  // logits of a model compiled with --argmax.
  static Result<std::unique_ptr<Generation>> create(std::shared_ptr<const Model> model,
                                                    std::span<const std::int32_t> prompt,
                                                    GenerateOptions options);

  const GenerateOptions& options() const { return options_; }
  bool is_done() const { return is_done_; }
  // The token to run next, after all that ran before. There is one after each accept() that did not
  // end the text.
  std::int32_t pending() const { return result_.ids.back(); }
  // Takes what the model said after the prompt, or after pending(). An error is that of the text or
  // of on_piece, and ends the text.
  Status accept(const Prediction& prediction);
  // Ends the text from outside.
  void end(FinishReason reason);
  // What was made, with the text that was still held back. Call it once, after the end; the timing
  // has the counts of tokens alone.
  Result<GenerateResult> finish();

 private:
  Generation(std::shared_ptr<const Model> model, std::size_t prompt_tokens, Sampler sampler,
             GenerateOptions options);
  // The next token, after the constraint was applied to the logits.
  Result<std::int32_t> pick(const LogitRow& row);
  Status take(std::int32_t id, const Prediction& prediction);
  // The text of a token. Sets the finish reason when a stop string ended the text.
  Status push_text(std::int32_t id);
  Status finish_text();
  Status emit(std::int32_t id, const std::string& text, bool is_token);

  const std::shared_ptr<const Model> model_;
  const std::size_t prompt_tokens_;
  const GenerateOptions options_;
  Sampler sampler_;
  std::optional<Constraint> constraint_;
  std::vector<float> constrained_;  // the logits of a step
  RepeatStop repeat_;
  std::optional<text::TextStreamer> streamer_;
  std::optional<text::StopStrings> stops_;
  GenerateResult result_;
  bool is_done_ = false;
};

}  // namespace anemone::engine
