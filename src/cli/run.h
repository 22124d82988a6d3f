// SPDX-License-Identifier: Apache-2.0
// `anemone run`: one answer to a prompt or raw token ids (run.cc, run_support.cc), or a chat
// (chat.cc).
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/draft_flags.h"
#include "cli/word_wrap.h"
#include "engine/generation/text_request.h"
#include "engine/model/model.h"

namespace anemone::cli {

struct RunOptions {
  std::string model;
  std::optional<std::string> prompt;
  std::string system;              // a text, or @FILE
  std::string prompt_file;         // whose text is the prompt
  std::string chat_template_file;  // instead of the model's own
  bool is_raw = false;             // the prompt is text to go on with, not a turn of a chat
  std::optional<std::string> prompt_ids;
  engine::TextRequest text;             // all but its logit_bias; its format: read_format()
  std::vector<std::string> logit_bias;  // ID=BIAS
  // What the answer has to be: at most one of them. A text, or @FILE.
  std::string json_schema;
  std::string regex;
  std::string grammar;
  std::string stages;
  std::vector<std::string> choices;
  bool as_json = false;
  bool has_spans = false;     // of a model that labels tokens: spans and not tokens
  bool keeps_system = false;  // a full conversation forgets its oldest turns
  std::int64_t context =
      0;  // tokens; of a checkpoint that is compiled into the cache; 0: the default
  bool checks_hashes = false;
  bool requires_ane = false;
  std::string logits_out;
  bool shows_profile = false;
  std::string trace;  // file
  bool warms_up = false;
  DraftFlags drafts;
  std::string socket;            // of a server that may answer instead; empty: none
  bool has_read_prompt = false;  // the prompt is the text itself, also where it is "-"
};

// The default of --max-new for plain text, which has no end of its own.
inline constexpr std::int64_t kDefaultContinuation = 256;

// All flags of `run`, into the options.
void add_run_flags(CLI::App& command, RunOptions& options, Context& context);

// The prompt: the text of PROMPT, or of stdin if that is "-", or of --file. kParseError where stdin
// has no text.
Result<std::string> prompt_text(const RunOptions& options);

// Reads the files that --system and --file name, and puts their texts into the options. kIo for a
// file that cannot be read, kParseError for a prompt without a text.
Status read_text_files(RunOptions& options);

// The error that --system asks for a chat template, which the model does not have.
Status no_template_for_system(const std::string& model);

// Says on stderr that the model has no chat template, so that the prompt is continued.
void note_no_template(const std::string& model);

// The conversation of one prompt: the system message, if there is one, and the text.
Json chat_messages(const RunOptions& options, const std::string& text);

// Puts the form that the flags ask of the answer into options.text.format. kInvalidArgument naming
// the flag for a text of the command line that is wrong; kParseError naming the file, too, for the
// text of one; kIo for a file that cannot be read.
Status read_format(RunOptions& options);

// What a command line asks for, over the defaults of the model. Sampling that was asked for without
// a seed gets one of its own. `default_tokens` is the length where none was asked for.
Result<engine::GenerateOptions> generate_options(
    const RunOptions& options, const engine::Model& model,
    std::int64_t default_tokens = engine::GenerateOptions::kUntilFull);

// {"text", "ids", "prompt_tokens", "finish_reason", "timing", ...}.
Json result_json(const engine::GenerateResult& result, const engine::GenerateOptions& options);

// "12 tokens, 35.2 tok/s; prompt 20 tokens, 120.0 tok/s", and `more`, on stderr, when a person is
// there.
void print_stats(const engine::GenerateResult& result, std::string_view more = {});

// Streams an answer to stdout as it comes, after a progress bar for a long prompt. On a terminal it
// leaves out control characters of the text, and breaks lines between words where the terminal says
// how wide it is. Single-thread; must outlive the generation.
class AnswerPrinter {
 public:
  // Hooks itself into the options. Off: prints nothing.
  AnswerPrinter(engine::GenerateOptions& options, bool is_on);
  AnswerPrinter(const AnswerPrinter&) = delete;
  AnswerPrinter& operator=(const AnswerPrinter&) = delete;

  // Ends the line. kIo when stdout failed.
  Status finish();

 private:
  void print(std::string_view text);
  void write(const std::string& text);

  bool is_on_;
  bool is_terminal_;
  bool at_line_start_ = true;
  WordWrap wrap_;
  Status status_;
  ProgressReport bar_{"reading", Progress::Unit::kItems};
};

// Collects the logits of all prompt positions for --logits-out.
class LogitsFile {
 public:
  explicit LogitsFile(std::string path) : path_(std::move(path)) {}
  bool is_wanted() const { return !path_.empty(); }
  void hook(engine::GenerateOptions& options);
  // Rows of `columns` logits.
  void add(std::span<const float> logits, std::int64_t columns);
  // Writes `logits` fp32 [T, vocab] and `ids` int64 [new tokens]; nothing when it is not wanted.
  Status write(const std::vector<std::int32_t>& ids) const;

 private:
  std::string path_;
  std::vector<float> values_;
  std::int64_t rows_ = 0;
};

// The labels of a text's tokens, for a model that classifies: a line each, its label before it; or
// a line for each span of tokens with one label.
Status run_labels(const RunOptions& options, std::shared_ptr<const engine::Model> model);

// A chat: turns from the terminal, or one per line from stdin.
Status run_chat(const RunOptions& options, std::shared_ptr<const engine::Model> model,
                const engine::SpeculationOptions& speculation);

}  // namespace anemone::cli
