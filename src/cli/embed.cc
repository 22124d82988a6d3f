// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "api/executors.h"
#include "base/error.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/jsonl_loop.h"
#include "cli/model_folder.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "engine/embedding/pooling.h"
#include "engine/loop/engine.h"

namespace anemone::cli {
namespace {

struct EmbedFlags {
  std::string model;
  std::vector<std::string> texts;  // none, or "-": the lines of stdin
  std::string pooling = "last";
  std::int64_t dimensions = 0;  // 0: all
  bool checks_hashes = false;
  bool is_json = false;  // has no effect: the output is always JSON
};

// The texts of the command line, or else the lines of stdin.
Result<std::vector<std::string>> texts_of(const EmbedFlags& options) {
  const bool is_stdin = options.texts == std::vector<std::string>{"-"};
  if (!options.texts.empty() && !is_stdin) return options.texts;
  ANEMONE_ASSIGN_OR_RETURN(const std::string all, read_stdin());
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  if (lines.empty()) return invalid_argument("[TEXT] expected at least one text, got none");
  return lines;
}

Status run_embed(const EmbedFlags& options, const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(const engine::Pooling pooling, engine::parse_pooling(options.pooling));
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  ANEMONE_ASSIGN_OR_RETURN(
      const auto model,
      load_model(options.model, {context.threads, options.checks_hashes}, *executor));
  ANEMONE_RETURN_IF_ERROR(model->check_generates());
  ANEMONE_RETURN_IF_ERROR(model->check_gives_hidden());
  if (model->tokenizer() == nullptr)
    return unsupported("[{}] expected a model with a tokenizer, got one without", options.model);
  const std::int64_t columns = model->manifest().hidden_size;
  if (options.dimensions > columns)
    return invalid_argument("[--dimensions] expected a number from 1 to {}, got {}", columns,
                            options.dimensions);
  ANEMONE_ASSIGN_OR_RETURN(const std::vector<std::string> texts, texts_of(options));
  std::vector<std::vector<std::int32_t>> ids;
  for (const std::string& text : texts) {
    ANEMONE_ASSIGN_OR_RETURN(auto one, model->tokenizer()->encode(text, {.add_special = true}));
    ids.push_back(std::move(one));
  }

  ProgressReport reading("reading", Progress::Unit::kItems);
  engine::BlockingOptions blocking;
  blocking.cancel = &interrupt_flag();
  blocking.on_progress = [&](std::int64_t done, std::int64_t total) {
    reading(static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(total));
  };
  engine::Engine engine({});
  auto embeddings = engine::embed(engine, model, ids, pooling, blocking);
  reading.clear();
  if (!embeddings.ok()) return embeddings.status();
  // A line at a time: numbers as short as they can be, which a JSON value would not keep.
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<float>& embedding = (*embeddings)[i];
    if (options.dimensions > 0)
      engine::shorten_embedding(embedding, static_cast<std::size_t>(options.dimensions));
    std::string line = fmt::format(R"({{"index":{},"tokens":{},"embedding":[)", i, ids[i].size());
    fmt::format_to(std::back_inserter(line), "{}]}}\n", fmt::join(embedding, ","));
    ANEMONE_RETURN_IF_ERROR(print_out(line));
  }
  return {};
}

}  // namespace

void add_embed_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<EmbedFlags>();
  CLI::App* command = app.add_subcommand("embed", "Print a vector for each text");
  command
      ->add_option("MODEL", options->model,
                   "Artifact or checkpoint folder, a GGUF file, or a model that was pulled")
      ->required();
  context.texts.insert(command->add_option(
      "TEXT", options->texts, "The texts; without one, or with -, the lines of stdin"));
  context.words[command
                    ->add_option("--pooling", options->pooling,
                                 "What becomes of the hidden states of all tokens: last (of the "
                                 "last token) or mean")
                    ->capture_default_str()] = {{"last", "mean"}};
  command
      ->add_option("--dimensions", options->dimensions,
                   "The first numbers of each vector only (default: all)")
      ->check(at_least(1));
  command->add_flag("--json", options->is_json, "No effect: the output is always JSON");
  add_check_hashes_flag(*command, options->checks_hashes);
  command->footer(
      "A line of JSON per text: {\"index\", \"tokens\", \"embedding\"}, a vector of length 1. The "
      "model has to be\n"
      "compiled with its hidden states, as `compile` does by default.\n"
      "\n"
      "Examples:\n"
      "  anemone embed model.anemone 'a text' 'another text'\n"
      "  anemone embed model.anemone --pooling mean < lines.txt");
  command->callback([options, &context] {
    context.action = [options, &context] { return run_embed(*options, context); };
  });
}

}  // namespace anemone::cli
