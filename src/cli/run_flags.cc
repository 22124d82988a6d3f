// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/model_folder.h"
#include "cli/number_range.h"
#include "cli/placement.h"
#include "cli/run.h"

namespace anemone::cli {

void add_run_flags(CLI::App& command, RunOptions& options, Context& context) {
  command
      .add_option(
          "-m,--model,MODEL", options.model,
          "Artifact folder, checkpoint folder, GGUF file, or a model of the hub: OWNER/NAME, "
          "OWNER/NAME:Q4_K_M, its address")
      ->required();
  CLI::Option* prompt =
      command.add_option("-p,--prompt,PROMPT", options.prompt,
                         "Text to answer; - reads it from stdin. Without PROMPT: a chat");
  CLI::Option* file =
      command.add_option("-f,--file", options.prompt_file, "File with the text to answer")
          ->excludes(prompt);
  CLI::Option* system =
      command.add_option("--system", options.system, "System message of the chat, or @FILE");
  context.texts.insert({prompt, system});
  CLI::Option* raw = command.add_flag("--raw", options.is_raw,
                                      "Continue PROMPT as plain text, without the template");
  CLI::Option* chat_template =
      command.add_option("--chat-template-file", options.chat_template_file,
                         "Chat template (Jinja) instead of the model's own");
  // CLI11 knows what cannot be combined, so that such settings are left out (settings.h).
  raw->excludes(system)->excludes(chat_template);
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
  CLI::Option* stop =
      command
          .add_option("--stop", options.text.stop, "End the text before this string (repeatable)")
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
  CLI::Option* stages = command.add_option(
      "--stages", options.stages,
      "The answer goes through the stages of this manifest, or of that in @FILE (JSON)");
  regex->excludes(schema);
  grammar->excludes(schema)->excludes(regex);
  choice->excludes(schema)->excludes(regex)->excludes(grammar);
  stages->excludes(schema)->excludes(regex)->excludes(grammar)->excludes(choice);
  command.add_flag("--ignore-eos", options.text.ignore_eos, "Go on after an end-of-text token");
  command.add_flag("--spans", options.has_spans,
                   "Of a model that labels tokens: show the spans of text with one label");
  command.add_flag("--json", options.as_json, "Print one JSON object at the end");
  add_check_hashes_flag(command, options.checks_hashes);
  add_require_ane_flag(command, options.requires_ane);
  add_draft_flags(command, options.drafts);
  command.add_option(
      "--socket", options.socket,
      "Unix socket of anemone serve --socket: if it has the model, it answers PROMPT "
      "and nothing is loaded here");
  CLI::Option* ids =
      command.add_option("--prompt-ids", options.prompt_ids,
                         "Token ids \"1 2 3\" or @FILE instead of a text; prints ids");
  for (CLI::Option* of_text :
       {prompt, file, system, chat_template, stop, schema, regex, grammar, choice})
    ids->excludes(of_text);
  command.add_option("--logits-out", options.logits_out,
                     "safetensors file: logits fp32 [T, vocab] of the prompt, ids of the "
                     "continuation");
  command.add_flag("--profile", options.shows_profile,
                   "Show where the time went, after the answer: by phase and by kind of operation");
  command.add_option("--trace", options.trace,
                     "File for a trace of all steps, as Perfetto and Chrome read it (JSON)");
  command.add_flag("--warmup", options.warms_up,
                   "Run a step before the answer, so that its times are not those of a first use");
}

}  // namespace anemone::cli
