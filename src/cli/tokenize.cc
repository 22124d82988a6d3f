// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/escape.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "cli/command.h"
#include "cli/inspect.h"
#include "cli/jsonl_loop.h"
#include "cli/model_path.h"
#include "cli/output.h"
#include "text/jsonl.h"
#include "text/text_work.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::cli {
namespace {

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;
  bool is_jsonl = false;
  bool as_json = false;
  bool add_special = false;
  bool special_is_text = false;
};

// Bytes that one row of the table takes, without the text of its piece.
constexpr std::size_t kRowBytes = 300;

Result<std::string> token_table(const text::Tokenizer& tokenizer,
                                const std::vector<std::int32_t>& ids, WorkBudget& work) {
  std::vector<std::vector<std::string>> rows = {{"position", "id", "piece"}};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string bytes, tokenizer.token_bytes(ids[i], work));
    const std::string piece = escaped(bytes);
    ANEMONE_RETURN_IF_ERROR(work.take(kRowBytes + 3 * piece.size()));
    rows.push_back({std::to_string(i), std::to_string(ids[i]),
                    tokenizer.is_special(ids[i]) ? piece : "\"" + piece + "\""});
  }
  return table(rows, "") + fmt::format("{} tokens\n", ids.size());
}

// Opens the tokenizer of a folder, a tokenizer.json, or a GGUF file of any architecture (from its
// metadata).
Result<std::shared_ptr<const text::Tokenizer>> tokenizer_of(const std::string& named) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(named));
  namespace gguf = checkpoint::gguf;
  if (!gguf::GgufFile::is_gguf(model)) return text::Tokenizer::load(model);
  ANEMONE_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::open(model));
  ANEMONE_ASSIGN_OR_RETURN(const auto texts, gguf::make_text_files(file->metadata()));
  if (texts.empty()) return not_found("[{}] expected a tokenizer in the file, got none", model);
  return text::Tokenizer::parse(texts.front().content, model);
}

Status run_tokenize(const TokenizeFlags& options) {
  ANEMONE_ASSIGN_OR_RETURN(const auto tokenizer, tokenizer_of(options.model));
  if (options.is_jsonl) {
    if (options.text)
      return invalid_argument(
          "[--stdin-jsonl] cannot be combined with TEXT (see anemone tokenize "
          "--help)");
    return answer_lines(
        [&](const Json& request) { return text::tokenize_line(*tokenizer, request); });
  }
  std::string text;
  if (options.text && *options.text != "-") {
    text = *options.text;
  } else {
    ANEMONE_ASSIGN_OR_RETURN(text, read_stdin());
  }
  if (options.as_json) {
    const Json answer =
        text::tokenize_line(*tokenizer, {{"text", text},
                                         {"add_special", options.add_special},
                                         {"parse_special", !options.special_is_text}});
    if (const Json* error = json_member(answer, "error"))
      return unsupported("[TEXT] {}", error->get<std::string>());
    return print_json(answer);
  }
  WorkBudget work("text", text::text_limits(text.size()));
  ANEMONE_ASSIGN_OR_RETURN(
      const auto ids,
      tokenizer->encode(text, {options.add_special, !options.special_is_text, &work}));
  ANEMONE_ASSIGN_OR_RETURN(const std::string shown, token_table(*tokenizer, ids, work));
  return print_report(shown);
}

}  // namespace

void add_tokenize_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<TokenizeFlags>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the tokens of a text");
  command
      ->add_option("--model", options->model,
                   "Folder with a tokenizer.json (a checkpoint or an artifact), that file, a\n"
                   "GGUF file, or a model that was pulled (OWNER/NAME)")
      ->required();
  context.texts.insert(
      command->add_option("TEXT", options->text, "The text; stdin when it is absent or -"));
  command->add_flag("--add-special", options->add_special,
                    "Add the tokens that the tokenizer puts around a text");
  command->add_flag("--no-parse-special", options->special_is_text,
                    "Take special tokens in the text as plain text");
  command->add_flag("--json", options->as_json, "Print {\"ids\", \"text\"} instead of a table");
  command->add_flag("--stdin-jsonl", options->is_jsonl,
                    "Read one JSON request per line from stdin, answer one per line");
  command->footer(
      "Requests of --stdin-jsonl: {\"text\", \"add_special\": false, \"parse_special\": true}; "
      "answers:\n"
      "{\"ids\", \"text\"} with the decoded ids as text, or {\"error\"}.\n"
      "\n"
      "Examples:\n"
      "  anemone tokenize --model Qwen2.5-0.5B-Instruct 'Hello, world'\n"
      "  anemone tokenize --model model.anemone --json - < letter.txt\n"
      "  echo '{\"text\": \"<|im_start|>\", \"parse_special\": false}' | anemone tokenize --model "
      "DIR --stdin-jsonl");
  command->callback(
      [options, &context] { context.action = [options] { return run_tokenize(*options); }; });
}

}  // namespace anemone::cli
