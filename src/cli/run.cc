// SPDX-License-Identifier: Apache-2.0
#include "cli/run.h"

#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "api/executors.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/jsonl_loop.h"
#include "cli/model_folder.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "cli/placement.h"
#include "cli/token_ids.h"
#include "engine/chat/conversation.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::cli {
namespace {

// A model that only continues a text does not know when to stop.
constexpr std::int64_t kDefaultContinuation = 256;

Result<std::shared_ptr<const engine::Model>> load_for_run(const RunOptions& options,
                                                          const Context& context, bool load_text) {
  ANEMONE_RETURN_IF_ERROR(check_require_ane(options.requires_ane, context));
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  engine::ModelLoadOptions load;
  load.load_text = load_text;
  ANEMONE_ASSIGN_OR_RETURN(auto model, load_model(options.model,
                                                  {.threads = context.threads,
                                                   .checks_hashes = options.checks_hashes,
                                                   .context = options.context},
                                                  *executor, load));
  // Core ML takes a moment to tell, so it is asked only where somebody wants to know.
  if (options.requires_ane || context.verbose)
    ANEMONE_RETURN_IF_ERROR(place_model(*model, options.requires_ane, context).status());
  return model;
}

Status interrupted() {
  return cancelled("[run] interrupted");
}

// Runs one prompt and prints the answer in the form that was asked for.
Status run_once(const RunOptions& options, const std::shared_ptr<const engine::Model>& model,
                const engine::SpeculationOptions& speculation, std::vector<std::int32_t> prompt,
                engine::GenerateOptions generate) {
  LogitsFile logits(options.logits_out);
  logits.hook(generate);
  const bool streams = !options.as_json && generate.as_text;
  AnswerPrinter printer(generate, streams);
  engine::Engine engine({.speculation = speculation});
  auto result = engine::generate(engine, model, std::move(prompt), generate);
  ANEMONE_RETURN_IF_ERROR(printer.finish());
  if (!result.ok()) return result.status();
  if (result->finish == engine::FinishReason::kCancelled) return interrupted();
  ANEMONE_RETURN_IF_ERROR(logits.write(result->ids));
  if (options.as_json)
    ANEMONE_RETURN_IF_ERROR(print_json(result_json(*result, generate)));
  else if (!streams)
    ANEMONE_RETURN_IF_ERROR(print_out(fmt::format("{}\n", fmt::join(result->ids, " "))));
  if (!options.as_json) print_stats(*result);
  return {};
}

// Ids in, ids out: nothing of the text side is touched.
Status run_ids(const RunOptions& options, const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(auto prompt, parse_token_ids(*options.prompt_ids, "--prompt-ids"));
  ANEMONE_ASSIGN_OR_RETURN(const auto model, load_for_run(options, context, false));
  if (model->manifest().classifies()) return run_labels(options, model);
  ANEMONE_ASSIGN_OR_RETURN(engine::GenerateOptions generate,
                           generate_options(options, *model, kDefaultContinuation));
  generate.as_text = false;
  ANEMONE_ASSIGN_OR_RETURN(const auto speculation,
                           load_speculation(options.drafts, {&model, 1}, context));
  return run_once(options, model, speculation, std::move(prompt), std::move(generate));
}

Status run_prompt(const RunOptions& options, std::shared_ptr<const engine::Model> model,
                  const engine::SpeculationOptions& speculation) {
  ANEMONE_ASSIGN_OR_RETURN(const std::string text, prompt_text(*options.prompt));
  const bool is_chat = !options.is_raw && model->has_chat_template();
  ANEMONE_ASSIGN_OR_RETURN(
      engine::GenerateOptions generate,
      generate_options(options, *model,
                       is_chat ? engine::GenerateOptions::kUntilFull : kDefaultContinuation));
  std::vector<std::int32_t> prompt;
  if (!is_chat) {
    ANEMONE_ASSIGN_OR_RETURN(prompt, model->tokenizer()->encode(text, {.add_special = true}));
  } else {
    Json messages = Json::array();
    if (!options.system.empty())
      messages.push_back({{"role", "system"}, {"content", options.system}});
    messages.push_back({{"role", "user"}, {"content", text}});
    ANEMONE_ASSIGN_OR_RETURN(prompt, engine::chat_prompt(*model, messages));
  }
  return run_once(options, model, speculation, std::move(prompt), std::move(generate));
}

// Flags that contradict each other, before a model is loaded for minutes.
Status check_flags(const RunOptions& options) {
  const auto refuse = [](std::string_view flag, std::string_view beside) {
    return invalid_argument("[{}] cannot be combined with {} (see anemone run --help)", flag,
                            beside);
  };
  if (options.prompt_ids) {
    if (options.prompt) return refuse("--prompt-ids", "PROMPT");
    if (!options.system.empty()) return refuse("--prompt-ids", "--system");
    if (!options.text.stop.empty()) return refuse("--prompt-ids", "--stop");
    if (!options.json_schema.empty() || !options.regex.empty() || !options.grammar.empty() ||
        !options.choices.empty())
      return refuse("--prompt-ids", "a form of the answer");
  } else if (!options.prompt) {
    if (!options.logits_out.empty())
      return invalid_argument("[--logits-out] expected --prompt-ids or PROMPT, got neither");
    if (options.is_raw) return invalid_argument("[--raw] expected a PROMPT, got none");
  }
  if (options.is_raw && !options.system.empty()) return refuse("--raw", "--system");
  if (options.text.top_logprobs && !options.as_json)
    return invalid_argument("[--logprobs] works only together with --json");
  return {};
}

Status run(const RunOptions& options, const Context& context) {
  ANEMONE_RETURN_IF_ERROR(check_flags(options));
  if (!options.logits_out.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(const std::string model, model_path(options.model));
    ANEMONE_RETURN_IF_ERROR(check_output_file(options.logits_out, model));
  }
  if (options.prompt_ids) {
    return run_ids(options, context);
  }
  ANEMONE_ASSIGN_OR_RETURN(auto model, load_for_run(options, context, true));
  if (model->tokenizer() == nullptr)
    return not_found(
        "[{}] expected a model with a tokenizer.json, got one without (--prompt-ids "
        "works)",
        options.model);
  if (model->manifest().classifies()) return run_labels(options, std::move(model));
  if (!options.system.empty() && !model->has_chat_template())
    return invalid_argument("[--system] expected a model with a chat template, got {}",
                            options.model);
  if (!options.prompt && !model->has_chat_template())
    return invalid_argument(
        "[PROMPT] expected a text, got none: {} has no chat template and cannot chat",
        options.model);
  ANEMONE_ASSIGN_OR_RETURN(const auto speculation,
                           load_speculation(options.drafts, {&model, 1}, context));
  if (options.prompt) return run_prompt(options, std::move(model), speculation);
  return run_chat(options, std::move(model), speculation);
}

void add_flags(CLI::App& command, RunOptions& options, Context& context) {
  command
      .add_option(
          "-m,--model,MODEL", options.model,
          "Artifact folder, checkpoint folder, GGUF file, or a model of the hub: OWNER/NAME, "
          "OWNER/NAME:Q4_K_M, its address")
      ->required();
  context.texts.insert(
      {command.add_option("-p,--prompt,PROMPT", options.prompt,
                          "Text to answer; - reads it from stdin. Without PROMPT: a chat"),
       command.add_option("--system", options.system, "System message of the chat")});
  command.add_flag("--raw", options.is_raw, "Continue PROMPT as plain text, without the template");
  command
      .add_option("-n,--max-new", options.text.max_tokens,
                  "Most tokens to generate (default: until the answer ends; 256 for plain text)")
      ->transform(token_counts(0, kManyTokens));
  command
      .add_option("-c,--context", options.context,
                  "Tokens that a checkpoint is compiled for, as 4k (default: 2048 or the model's "
                  "maximum)")
      ->transform(token_counts(1, std::int64_t{1} << 24));
  command.add_flag("--keep-system", options.keeps_system,
                   "In a chat that is full, forget the oldest turns and keep the system message");
  CLI::Option* greedy = command.add_flag("--greedy", options.text.sampling.is_greedy,
                                         "Always take the most likely token");
  for (CLI::Option* option :
       {command.add_option("--temperature", options.text.sampling.temperature,
                           "Sampling temperature: above 1 flatter, below 1 sharper; 0 is greedy"),
        command
            .add_option("--top-k", options.text.sampling.top_k,
                        "Sample from the K most likely tokens; 0: all")
            ->check(at_least(0)),
        command
            .add_option("--top-p", options.text.sampling.top_p,
                        "Sample from the most likely tokens that make up this probability")
            ->check(numbers(0, 1)),
        command
            .add_option("--min-p", options.text.sampling.min_p,
                        "Sample from tokens at least this share as likely as the most likely")
            ->check(numbers(0, 1))})
    option->excludes(greedy);
  command
      .add_option("--seed", options.text.sampling.seed,
                  "Seed of the sampling: the same seed gives the same text")
      ->check(seeds());
  command.add_option("--repetition-penalty", options.text.sampling.repetition_penalty,
                     "Divide the logits of tokens that prompt or text hold; 1: off");
  command.add_option("--presence-penalty", options.text.sampling.presence_penalty,
                     "Subtract this from the logits of tokens that the text holds");
  command.add_option("--frequency-penalty", options.text.sampling.frequency_penalty,
                     "Subtract this from a token's logit for each time that the text holds it");
  command
      .add_option("--no-repeat-ngram", options.text.sampling.no_repeat_ngram,
                  "Never pick a token that would repeat N tokens in a row; 0: off")
      ->check(at_least(0));
  command
      .add_option("--logit-bias", options.logit_bias,
                  "ID=BIAS, added to the logit of a token (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--stop-repeat-ngram", options.text.stop_repeat_ngram,
                  "End the text when its last N tokens occurred in it before; 0: off")
      ->check(at_least(0));
  command
      .add_option("--logprobs", options.text.top_logprobs,
                  "With --json: log-probabilities of each token and of N alternatives")
      ->check(at_least(0));
  command.add_option("--stop", options.text.stop, "End the text before this string (repeatable)")
      ->allow_extra_args(false);
  CLI::Option* schema = command.add_option("--json-schema", options.json_schema,
                                           "The answer is JSON that is valid against this schema, "
                                           "or against that in\n@FILE");
  CLI::Option* regex = command.add_option("--regex", options.regex,
                                          "The answer is a text that this pattern matches");
  CLI::Option* grammar = command.add_option(
      "--grammar", options.grammar,
      "The answer is a text of this grammar, or of that in @FILE (GBNF, as llama.cpp has it)");
  CLI::Option* choice = command
                            .add_option("--choice", options.choices,
                                        "The answer is this text or one of the others (repeatable)")
                            ->allow_extra_args(false);
  regex->excludes(schema);
  grammar->excludes(schema)->excludes(regex);
  choice->excludes(schema)->excludes(regex)->excludes(grammar);
  command.add_flag("--ignore-eos", options.text.ignore_eos, "Go on after an end-of-text token");
  command.add_flag("--spans", options.has_spans,
                   "Of a model that labels tokens: show the spans of text with one label");
  command.add_flag("--json", options.as_json, "Print one JSON object at the end");
  add_check_hashes_flag(command, options.checks_hashes);
  add_require_ane_flag(command, options.requires_ane);
  add_draft_flags(command, options.drafts);
  command.add_option("--prompt-ids", options.prompt_ids,
                     "Token ids \"1 2 3\" or @FILE instead of a text; prints ids");
  command.add_option("--logits-out", options.logits_out,
                     "safetensors file: logits fp32 [T, vocab] of the prompt, ids of the "
                     "continuation");
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Answer a prompt, or chat");
  add_flags(*command, *options, context);
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
      "  anemone run base.anemone --raw \"Once upon a time\" --max-new 100 --temperature 0.8 "
      "--seed "
      "1\n"
      "  anemone run exact --prompt-ids \"1 2 3\" --max-new 0 --logits-out logits.safetensors");
  command->callback([options, &context] {
    context.action = [options, &context] { return run(*options, context); };
  });
}

}  // namespace anemone::cli
