// SPDX-License-Identifier: Apache-2.0
#include "text/chat/chat_template.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/gguf_tokenizer.h"
#include "cli/command.h"
#include "cli/jsonl_loop.h"
#include "cli/model_path.h"
#include "cli/output.h"
#include "text/chat/chat_template_source.h"
#include "text/jsonl.h"

namespace anemone::cli {
namespace {

struct ChatTemplateFlags {
  std::string file;
  std::string model;
  std::string messages;
  bool is_jsonl = false;
  bool as_json = false;
  bool no_generation_prompt = false;
};

// A template file, or what a model has: templates for chats with and without tools, and the
// tokens that they may name.
class Renderer {
 public:
  static Result<Renderer> from_file(const std::string& path) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string source, read_file(path));
    ANEMONE_ASSIGN_OR_RETURN(auto parsed, parse(source, path));
    return Renderer(std::move(parsed));
  }
  static Result<Renderer> from_model(const std::string& model) {
    ANEMONE_ASSIGN_OR_RETURN(auto source, find_source(model));
    ANEMONE_ASSIGN_OR_RETURN(auto parsed, parse(source.source, model));
    Renderer out(std::move(parsed));
    if (source.tool_use) {
      ANEMONE_ASSIGN_OR_RETURN(out.tool_use_, parse(*source.tool_use, model));
    }
    out.bos_token_ = std::move(source.bos_token);
    out.eos_token_ = std::move(source.eos_token);
    return out;
  }

  Json answer(Json request) const {
    if (!request.is_object()) return text::render_line(plain_, request);
    // The model's tokens, where the request brings none.
    if (bos_token_ || eos_token_) {
      Json& kwargs = request["kwargs"];
      if (kwargs.is_null()) kwargs = Json::object();
      if (kwargs.is_object()) {
        if (bos_token_ && !kwargs.contains("bos_token")) kwargs["bos_token"] = *bos_token_;
        if (eos_token_ && !kwargs.contains("eos_token")) kwargs["eos_token"] = *eos_token_;
      }
    }
    const bool has_tools = json_member(request, "tools") != nullptr;
    return text::render_line(has_tools && tool_use_ ? *tool_use_ : plain_, request);
  }

 private:
  // Finds the template of a model folder, or of a GGUF file of any architecture (from its
  // metadata).
  static Result<text::ChatTemplateSource> find_source(const std::string& named) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(named));
    namespace gguf = checkpoint::gguf;
    if (!gguf::GgufFile::is_gguf(model)) return text::find_chat_template(model);
    ANEMONE_ASSIGN_OR_RETURN(const auto file, gguf::GgufFile::open(model));
    ANEMONE_ASSIGN_OR_RETURN(const Json config, gguf::make_tokenizer_config(file->metadata()));
    return text::read_chat_template(config, model);
  }

  explicit Renderer(text::ChatTemplate plain) : plain_(std::move(plain)) {}
  static Result<text::ChatTemplate> parse(const std::string& source, const std::string& path) {
    auto parsed = text::ChatTemplate::parse(source);
    if (!parsed.ok()) return parsed.status().with(path);
    return parsed;
  }

  text::ChatTemplate plain_;
  std::optional<text::ChatTemplate> tool_use_;
  std::optional<std::string> bos_token_;
  std::optional<std::string> eos_token_;
};

// A list of messages, or a request as --stdin-jsonl takes it.
Result<Json> read_request(const ChatTemplateFlags& options) {
  std::string text;
  const bool is_stdin = options.messages.empty() || options.messages == "-";
  if (is_stdin) {
    ANEMONE_ASSIGN_OR_RETURN(text, read_stdin());
  } else {
    ANEMONE_ASSIGN_OR_RETURN(text, read_file(options.messages));
  }
  ANEMONE_ASSIGN_OR_RETURN(Json json, parse_json(text, is_stdin ? "stdin" : options.messages));
  Json request = Json::object();
  if (json.is_array())
    request["messages"] = std::move(json);
  else
    request = std::move(json);
  if (request.is_object() && !request.contains("add_generation_prompt"))
    request["add_generation_prompt"] = !options.no_generation_prompt;
  return request;
}

// Answers one request that brings its own template, when no other was given.
Json answer_with_own_template(const Json& request) {
  const Json* source = json_member(request, "template");
  if (source == nullptr || !source->is_string())
    return Json{{"error", "[request] expected a template, as no --template or MODEL is given"}};
  const auto parsed = text::ChatTemplate::parse(source->get_ref<const std::string&>());
  if (!parsed.ok()) return Json{{"error", parsed.status().message()}};
  return text::render_line(*parsed, request);
}

Status run_chat_template(const ChatTemplateFlags& options) {
  if (options.is_jsonl && options.file.empty() && options.model.empty())
    return answer_lines(answer_with_own_template);
  if (options.file.empty() == options.model.empty())
    return invalid_argument(
        "expected --template FILE or MODEL, got {} (see anemone "
        "chat-template --help)",
        options.file.empty() ? "neither" : "both");
  ANEMONE_ASSIGN_OR_RETURN(const Renderer renderer, options.file.empty()
                                                        ? Renderer::from_model(options.model)
                                                        : Renderer::from_file(options.file));
  if (options.is_jsonl)
    return answer_lines([&](const Json& request) { return renderer.answer(request); });
  ANEMONE_ASSIGN_OR_RETURN(Json request, read_request(options));
  const Json answer = renderer.answer(std::move(request));
  if (const Json* error = json_member(answer, "error"))
    return parse_error("[{}] {}", options.messages.empty() ? "stdin" : options.messages,
                       error->get<std::string>());
  if (options.as_json) return print_json(answer);
  std::string text = answer["text"].get<std::string>();
  if (!text.ends_with('\n')) text += '\n';
  // A prompt that is piped on goes as it is.
  return ::isatty(STDOUT_FILENO) != 0 ? print_report(text) : print_out(text);
}

}  // namespace

void add_chat_template_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ChatTemplateFlags>();
  CLI::App* command =
      app.add_subcommand("chat-template", "Show the prompt that a chat template makes of messages");
  command->add_option("--template", options->file, "A Jinja file");
  command->add_option(
      "--model,MODEL", options->model,
      "Model folder, GGUF file or model that was pulled (OWNER/NAME): its template, with\n"
      "its bos and eos tokens");
  command->add_option("--messages", options->messages,
                      "JSON file: a list of {\"role\", \"content\"}, or a request as below "
                      "(default: stdin)");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt,
                    "Leave out the beginning of the assistant's answer");
  command->add_flag("--json", options->as_json, "Print {\"text\"}");
  command->add_flag("--stdin-jsonl", options->is_jsonl,
                    "Read one JSON request per line from stdin, answer one per line");
  command->footer(
      "Requests of --stdin-jsonl: {\"messages\", \"tools\", \"add_generation_prompt\": false, "
      "\"kwargs\": {},\n"
      "\"now\": \"2025-01-15T12:34:56\"}; answers: {\"text\"} or {\"error\"}. The members of "
      "kwargs "
      "are variables\n"
      "of the template. Without --template and MODEL each request names its \"template\" as "
      "text.\n"
      "\n"
      "Examples:\n"
      "  anemone chat-template Qwen2.5-0.5B-Instruct --messages chat.json\n"
      "  echo '[{\"role\": \"user\", \"content\": \"Hi\"}]' | anemone chat-template --template "
      "chat.jinja\n"
      "  anemone chat-template --template chat.jinja --stdin-jsonl < requests.jsonl");
  command->callback(
      [options, &context] { context.action = [options] { return run_chat_template(*options); }; });
}

}  // namespace anemone::cli
