// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parse_number.h"
#include "base/terminal.h"
#include "checkpoint/safetensors.h"
#include "cli/interrupt.h"
#include "cli/jsonl_loop.h"
#include "cli/output.h"
#include "cli/run.h"
#include "engine/constraint/answer_grammar.h"
#include "engine/constraint/stage_counts.h"

namespace anemone::cli {
namespace {

// What may not reach a terminal from a model: it could move the cursor or change its settings.
std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_c0 = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
    const bool is_c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_c1) ++i;
    if (!is_c0 && !is_c1) out += text[i];
  }
  return out;
}

// "ID=BIAS", as --logit-bias takes it.
Result<std::pair<std::int32_t, float>> parse_bias(const std::string& text) {
  if (const std::size_t equals = text.find('='); equals != text.npos) {
    const auto id = parse_number<std::int32_t>(std::string_view(text).substr(0, equals));
    const auto bias = parse_number<double>(std::string_view(text).substr(equals + 1));
    if (id && bias) return std::pair(*id, static_cast<float>(*bias));
  }
  return invalid_argument("[--logit-bias] expected ID=BIAS, as in 42=-5.5, got \"{}\"", text);
}

// What is wrong with the form of an answer, with the flag as the subject in place of the notation.
// The module of grammars cannot know whether its text stood on the command line or in a file.
Status format_error(const Status& status, const std::string& flag, bool is_file) {
  const bool is_wrong_text =
      status.code() == Code::kParseError || status.code() == Code::kInvalidArgument;
  const Code code = !is_wrong_text ? status.code()
                    : is_file      ? Code::kParseError
                                   : Code::kInvalidArgument;
  std::string message(status.message());
  const std::size_t end = message.find(']');
  // The subject of a schema is the flag already, with the place in the schema.
  if (message.starts_with('[') && !message.starts_with("[" + flag) && end != message.npos)
    message.replace(1, end - 1, flag);
  return status.ok() ? status : Status(code, message);
}

Result<std::string> text_or_file(const std::string& value) {
  if (!value.starts_with('@')) return value;
  return read_file(value.substr(1));
}

// A prompt from elsewhere than the command line. An empty one is more likely the trace of a program
// that failed than what somebody wanted to ask.
Result<std::string> without_last_newline(std::string text, std::string_view source) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.empty()) return parse_error("[{}] expected a prompt, got an empty text", source);
  return text;
}

}  // namespace

Json chat_messages(const RunOptions& options, const std::string& text) {
  Json messages = Json::array();
  if (!options.system.empty())
    messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  return messages;
}

Status read_format(RunOptions& options) {
  using Kind = engine::ResponseFormat::Kind;
  engine::ResponseFormat format;
  std::string flag;  // with the name of its file
  bool is_file = false;
  for (const auto& [kind, name, value] :
       {std::tuple(Kind::kJsonSchema, "--json-schema", &options.json_schema),
        {Kind::kRegex, "--regex", &options.regex},
        {Kind::kGrammar, "--grammar", &options.grammar},
        {Kind::kStages, "--stages", &options.stages}}) {
    if (value->empty()) continue;
    format.kind = kind;
    is_file = value->starts_with('@');
    flag = is_file ? fmt::format("{} {}", name, *value) : name;
    ANEMONE_ASSIGN_OR_RETURN(format.source, text_or_file(*value));
  }
  if (!options.choices.empty()) {
    flag = "--choice";
    format.kind = Kind::kChoice;
    format.choices = options.choices;
  }
  if (flag.empty()) return {};
  if (format.kind == Kind::kJsonSchema || format.kind == Kind::kStages) format.subject = flag;
  // The members of a manifest are looked at with the model, whose tokens they name.
  const Status status = format.kind == Kind::kStages ? parse_json(format.source, flag).status()
                                                     : engine::grammar_of(format).status();
  ANEMONE_RETURN_IF_ERROR(format_error(status, flag, is_file));
  options.text.format = std::move(format);
  return {};
}

Result<std::string> prompt_text(const RunOptions& options) {
  if (*options.prompt != "-" || options.has_read_prompt) return *options.prompt;
  ANEMONE_ASSIGN_OR_RETURN(std::string text, read_stdin());
  return without_last_newline(std::move(text), "stdin");
}

Status read_text_files(RunOptions& options) {
  if (options.system.starts_with('@')) {
    ANEMONE_ASSIGN_OR_RETURN(options.system, text_or_file(options.system));
    if (options.system.ends_with('\n')) options.system.pop_back();
  }
  if (options.prompt_file.empty()) return {};
  ANEMONE_ASSIGN_OR_RETURN(std::string text, read_file(options.prompt_file));
  ANEMONE_ASSIGN_OR_RETURN(options.prompt,
                           without_last_newline(std::move(text), options.prompt_file));
  options.has_read_prompt = true;
  return {};
}

Status no_template_for_system(const std::string& model) {
  return invalid_argument(
      "[--system] expected a model with a chat template, got {} (--chat-template-file gives it "
      "one)",
      model);
}

void note_no_template(const std::string& model) {
  print_err(
      "note: {} has no chat template, so the prompt is continued as plain text "
      "(--chat-template-file gives it one)\n",
      escaped(model));
}

Result<engine::GenerateOptions> generate_options(const RunOptions& options,
                                                 const engine::Model& model,
                                                 std::int64_t default_tokens) {
  engine::TextRequest request = options.text;
  for (const std::string& text : options.logit_bias) {
    ANEMONE_ASSIGN_OR_RETURN(const auto bias, parse_bias(text));
    request.sampling.logit_bias.push_back(bias);
  }
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions out,
                           engine::resolve_request(std::move(request), {}, model, default_tokens));
  out.cancel = &interrupt_flag();
  return out;
}

Json result_json(const engine::GenerateResult& result, const engine::GenerateOptions& options) {
  const engine::Timing& timing = result.timing;
  Json out = {{"text", result.text},
              {"ids", result.ids},
              {"prompt_tokens", timing.prompt_tokens},
              {"finish_reason", engine::finish_reason_name(result.finish)}};
  if (!result.stop.empty()) out["stop"] = result.stop;
  if (result.stages) out["structured_cot"] = engine::stage_counts_json(*result.stages);
  if (!options.sampling.is_greedy()) out["seed"] = options.sampling.seed;
  if (options.top_logprobs) {
    Json& list = out["logprobs"] = Json::array();
    for (std::size_t i = 0; i < result.ids.size(); ++i) {
      Json top = Json::array();
      for (const auto& [id, logprob] : result.logprobs[i].top)
        top.push_back({{"id", id}, {"logprob", logprob}});
      list.push_back({{"id", result.ids[i]},
                      {"logprob", result.logprobs[i].logprob},
                      {"top", std::move(top)}});
    }
  }
  out["timing"] = {{"prefill_s", timing.prefill_s},
                   {"decode_s", timing.decode_s},
                   {"prefill_tok_s", timing.prefill_tok_s()},
                   {"decode_tok_s", timing.decode_tok_s()}};
  if (timing.proposed_tokens > 0) {
    out["timing"]["proposed_tokens"] = timing.proposed_tokens;
    out["timing"]["accepted_tokens"] = timing.accepted_tokens;
  }
  return out;
}

void print_stats(const engine::GenerateResult& result, std::string_view more) {
  if (::isatty(STDERR_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
  const engine::Timing& timing = result.timing;
  std::string line = fmt::format("{} tokens", timing.new_tokens);
  if (timing.decode_steps > 0) line += fmt::format(", {:.1f} tok/s", timing.decode_tok_s());
  if (timing.proposed_tokens > 0)
    line += fmt::format(", {} of {} proposed tokens accepted", timing.accepted_tokens,
                        timing.proposed_tokens);
  line += fmt::format("; prompt {} tokens", timing.prompt_tokens - timing.reused_tokens);
  if (timing.prefill_s > 0) line += fmt::format(", {:.1f} tok/s", timing.prefill_tok_s());
  line += more;
  print_err("{}\n", styled("[" + line + "]", Style::kDim, STDERR_FILENO));
}

AnswerPrinter::AnswerPrinter(engine::GenerateOptions& options, bool is_on)
    : is_on_(is_on),
      is_terminal_(::isatty(STDOUT_FILENO) != 0),
      wrap_([] { return stated_columns(STDOUT_FILENO); }) {
  options.on_prefill_progress = [this](std::int64_t done, std::int64_t total) {
    bar_(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
    if (done == total) bar_.clear();
  };
  if (is_on_) {
    options.on_piece = [this](const engine::TextPiece& piece) {
      print(piece.text);
      return Status();
    };
  }
}

void AnswerPrinter::print(std::string_view text) {
  if (text.empty()) return;
  at_line_start_ = text.back() == '\n';
  write(is_terminal_ ? wrap_.add(without_controls(text)) : std::string(text));
}

void AnswerPrinter::write(const std::string& text) {
  if (text.empty() || !status_.ok()) return;
  status_ = print_out(text);
  // Nobody reads any more: the rest need not be computed.
  if (!status_.ok()) interrupt_flag() = true;
}

Status AnswerPrinter::finish() {
  bar_.clear();
  if (is_on_ && is_terminal_) write(wrap_.finish());
  if (is_on_ && !at_line_start_) write("\n");
  return status_;
}

void LogitsFile::hook(engine::GenerateOptions& options) {
  if (!is_wanted()) return;
  options.on_prompt_logits = [this](std::int64_t /*position*/,
                                    std::span<const float> logits) -> Status {
    add(logits, static_cast<std::int64_t>(logits.size()));
    return {};
  };
}

void LogitsFile::add(std::span<const float> logits, std::int64_t columns) {
  values_.insert(values_.end(), logits.begin(), logits.end());
  rows_ += static_cast<std::int64_t>(logits.size()) / columns;
}

Status LogitsFile::write(const std::vector<std::int32_t>& ids) const {
  if (!is_wanted()) return {};
  const std::vector<std::int64_t> wide(ids.begin(), ids.end());
  const std::int64_t columns = rows_ == 0 ? 0 : static_cast<std::int64_t>(values_.size()) / rows_;
  const TensorView logits{
      DType::kFp32, {rows_, columns}, reinterpret_cast<const std::byte*>(values_.data())};
  const TensorView continuation{DType::kInt64,
                                {static_cast<std::int64_t>(wide.size())},
                                reinterpret_cast<const std::byte*>(wide.data())};
  return checkpoint::write_safetensors(path_, {{"logits", logits}, {"ids", continuation}});
}

}  // namespace anemone::cli
