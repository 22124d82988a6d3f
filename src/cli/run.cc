// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <array>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/executors.h"
#include "base/error.h"
#include "base/escape.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/jsonl_loop.h"
#include "cli/model_folder.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "cli/placement.h"
#include "cli/run_meter.h"
#include "cli/run_socket.h"
#include "cli/token_ids.h"
#include "engine/chat/conversation.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::cli {
namespace {

Result<std::shared_ptr<const engine::Model>> load_for_run(const RunOptions& options,
                                                          const Context& context, bool load_text,
                                                          RunMeter& meter) {
  ANEMONE_RETURN_IF_ERROR(check_require_ane(options.requires_ane, context));
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  engine::ModelLoadOptions load;
  load.load_text = load_text;
  load.chat_template_file = options.chat_template_file;
  meter.load_began();
  auto loaded = load_model(options.model,
                           {.threads = context.threads,
                            .checks_hashes = options.checks_hashes,
                            .context = options.context},
                           *executor, load);
  meter.load_ended();
  ANEMONE_ASSIGN_OR_RETURN(auto model, std::move(loaded));
  // Core ML takes a moment to tell, so it is asked only where somebody wants to know.
  if (options.requires_ane || context.verbose)
    ANEMONE_RETURN_IF_ERROR(place_model(*model, options.requires_ane, context).status());
  return model;
}

Status interrupted() {
  return cancelled("[run] interrupted");
}

// The flags that measure an answer, and whether they are there.
std::array<std::pair<const char*, bool>, 3> metering_flags(const RunOptions& options) {
  return {{{"--profile", options.shows_profile},
           {"--trace", !options.trace.empty()},
           {"--warmup", options.warms_up}}};
}

Status label(const RunOptions& options, std::shared_ptr<const engine::Model> model) {
  for (const auto& [flag, is_set] : metering_flags(options))
    if (is_set)
      return invalid_argument(
          "[{}] expected a model that generates text, got one that labels tokens", flag);
  return run_labels(options, std::move(model));
}

// Runs one prompt and prints the answer in the form that was asked for.
Status run_once(const RunOptions& options, const std::shared_ptr<const engine::Model>& model,
                const engine::SpeculationOptions& speculation, std::vector<std::int32_t> prompt,
                engine::GenerateOptions generate, RunMeter& meter) {
  const Status warm = meter.warm_up(model, prompt);
  if (warm.code() == Code::kCancelled) return interrupted();
  ANEMONE_RETURN_IF_ERROR(warm);
  LogitsFile logits(options.logits_out);
  logits.hook(generate);
  const bool streams = !options.as_json && generate.as_text;
  AnswerPrinter printer(generate, streams);
  engine::Engine engine({.speculation = speculation, .observer = meter.observer()});
  auto result = engine::generate(engine, model, std::move(prompt), generate);
  ANEMONE_RETURN_IF_ERROR(printer.finish());
  if (!result.ok()) return result.status();
  if (result->finish == engine::FinishReason::kCancelled) return interrupted();
  ANEMONE_RETURN_IF_ERROR(logits.write(result->ids));
  if (options.as_json) {
    Json json = result_json(*result, generate);
    ANEMONE_RETURN_IF_ERROR(meter.finish(result->timing, &json));
    return print_json(json);
  }
  if (!streams)
    ANEMONE_RETURN_IF_ERROR(print_out(fmt::format("{}\n", fmt::join(result->ids, " "))));
  print_stats(*result);
  return meter.finish(result->timing, nullptr);
}

// Ids in, ids out: nothing of the text side is touched, but where stages name tokens by their text.
Status run_ids(const RunOptions& options, const Context& context, RunMeter& meter) {
  ANEMONE_ASSIGN_OR_RETURN(auto prompt, parse_token_ids(*options.prompt_ids, "--prompt-ids"));
  ANEMONE_ASSIGN_OR_RETURN(const auto model,
                           load_for_run(options, context, !options.stages.empty(), meter));
  if (model->manifest().classifies()) return label(options, model);
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions generate,
                           generate_options(options, *model, kDefaultContinuation));
  generate.as_text = false;
  ANEMONE_ASSIGN_OR_RETURN(const auto speculation,
                           load_speculation(options.drafts, {&model, 1}, context));
  return run_once(options, model, speculation, std::move(prompt), std::move(generate), meter);
}

// The tokens of a text: of the prompt of a chat, or of the text itself.
Result<std::vector<std::int32_t>> tokens_of(const RunOptions& options, const engine::Model& model,
                                            const std::string& text, bool is_chat) {
  if (is_chat) return engine::chat_prompt(model, chat_messages(options, text));
  ANEMONE_ASSIGN_OR_RETURN(auto ids, model.tokenizer()->encode(text, {.add_special = true}));
  if (ids.empty())
    return invalid_argument(
        "[PROMPT] expected a text, got an empty one: the tokenizer of {} puts no token before a "
        "text",
        options.model);
  return ids;
}

Status run_prompt(const RunOptions& options, std::shared_ptr<const engine::Model> model,
                  const engine::SpeculationOptions& speculation, RunMeter& meter) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, prompt_text(options));
  const bool is_chat = !options.is_raw && model->has_chat_template();
  if (!is_chat && !options.is_raw) note_no_template(options.model);
  ANEMONE_ASSIGN_OR_RETURN(
      engine::GenerateOptions generate,
      generate_options(options, *model,
                       is_chat ? engine::GenerateOptions::kUntilFull : kDefaultContinuation));
  meter.tokenize_began();
  auto prompt = tokens_of(options, *model, text, is_chat);
  meter.tokenize_ended();
  if (!prompt.ok()) return prompt.status();
  return run_once(options, model, speculation, *std::move(prompt), std::move(generate), meter);
}

// Flags that contradict each other, before a model is loaded for minutes.
Status check_flags(const RunOptions& options) {
  if (!options.prompt_ids && !options.prompt) {
    if (!options.logits_out.empty())
      return invalid_argument("[--logits-out] expected --prompt-ids or PROMPT, got neither");
    if (options.is_raw) return invalid_argument("[--raw] expected a PROMPT, got none");
    for (const auto& [flag, is_set] : metering_flags(options))
      if (is_set)
        return invalid_argument("[{}] expected --prompt-ids or PROMPT, got neither", flag);
  }
  if (options.text.top_logprobs && !options.as_json)
    return invalid_argument("[--logprobs] works only together with --json");
  return {};
}

Status run(RunOptions options, const Context& context) {
  ANEMONE_RETURN_IF_ERROR(read_text_files(options));
  ANEMONE_RETURN_IF_ERROR(read_format(options));
  ANEMONE_RETURN_IF_ERROR(check_flags(options));
  const std::array files = {options.logits_out, options.trace};
  if (files != decltype(files)()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(options.model));
    ANEMONE_RETURN_IF_ERROR(check_output_files(files, {model}));
  }
  if (!options.socket.empty()) {
    if (options.prompt) {
      ANEMONE_ASSIGN_OR_RETURN(options.prompt, prompt_text(options));
      options.has_read_prompt = true;
    }
    ANEMONE_ASSIGN_OR_RETURN(const bool is_answered, run_on_server(options));
    if (is_answered) return {};
  }
  RunMeter meter(options.shows_profile, options.trace, options.warms_up);
  if (options.prompt_ids) {
    return run_ids(options, context, meter);
  }
  ANEMONE_ASSIGN_OR_RETURN(auto model, load_for_run(options, context, true, meter));
  if (model->tokenizer() == nullptr)
    return not_found(
        "[{}] expected a model with a tokenizer.json, got one without (--prompt-ids "
        "works)",
        options.model);
  if (model->manifest().classifies()) return label(options, std::move(model));
  if (!options.system.empty() && !model->has_chat_template())
    return no_template_for_system(options.model);
  if (!options.prompt && !model->has_chat_template())
    return invalid_argument(
        "[PROMPT] expected a text, got none: {} has no chat template and cannot chat "
        "(--chat-template-file gives it one)",
        options.model);
  ANEMONE_ASSIGN_OR_RETURN(const auto speculation,
                           load_speculation(options.drafts, {&model, 1}, context));
  if (options.prompt) return run_prompt(options, std::move(model), speculation, meter);
  return run_chat(options, std::move(model), speculation);
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Answer a prompt, or chat");
  add_run_flags(*command, *options, context);
  command->footer(
      "A checkpoint is compiled into the cache first (ANEMONE_CACHE, else "
      "~/.cache/anemone). "
      "Sampling\n"
      "follows the model's generation_config.json unless a flag says otherwise. In a chat, Ctrl-C "
      "stops the\n"
      "answer, Ctrl-D leaves, /help lists the commands; when stdin is no terminal each line of it "
      "is "
      "one turn.\n"
      "\n"
      "Examples:\n"
      "  anemone run model.anemone \"What is 17 + 25?\"\n"
      "  anemone run Qwen2.5-0.5B-Instruct                          # a chat\n"
      "  anemone run model.anemone --system \"Answer in French.\" - < question.txt\n"
      "  anemone run model.anemone --system @rules.txt --file question.txt\n"
      "  anemone run base.anemone --raw \"Once upon a time\" --max-new 100 --temperature 0.8 "
      "--seed "
      "1\n"
      "  anemone run model.anemone --socket lines.sock \"What is 17 + 25?\"  # of serve --socket\n"
      "  anemone run exact --prompt-ids \"1 2 3\" --max-new 0 --logits-out logits.safetensors");
  command->callback([options, &context] {
    context.action = [options, &context] { return run(*options, context); };
  });
}

}  // namespace anemone::cli
