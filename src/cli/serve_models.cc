// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_models.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>

#include "api/executors.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/progress.h"
#include "cli/model_folder.h"
#include "cli/model_path.h"
#include "cli/number_range.h"
#include "cli/output.h"
#include "cli/placement.h"

namespace anemone::cli {
namespace {

// The names of each model: a single model has all aliases, several models have one each.
Result<std::vector<std::vector<std::string>>> model_names(const ServeOptions& options) {
  std::vector<std::vector<std::string>> names;
  if (options.models.size() > 1 && !options.aliases.empty() &&
      options.aliases.size() != options.models.size())
    return invalid_argument("[--alias] expected a name for each of the {} models, got {}",
                            options.models.size(), options.aliases.size());
  for (std::size_t i = 0; i < options.models.size(); ++i) {
    if (options.aliases.empty())
      names.push_back({served_name(options.models[i])});
    else if (options.models.size() == 1)
      names.push_back(options.aliases);
    else
      names.push_back({options.aliases[i]});
  }
  return names;
}

std::uint64_t bytes_of(const artifact::Manifest& manifest) {
  std::uint64_t bytes = 0;
  for (const artifact::FileEntry& file : manifest.files) bytes += file.bytes;
  return bytes;
}

// Loads models as the flags say, all on one executor.
class CommandLineModels : public serve::ModelProvider {
 public:
  CommandLineModels(const ServeOptions& options, engine::SpeculationOptions speculation,
                    const Context& context, std::unique_ptr<exec::Executor> executor,
                    std::map<std::string, std::string> paths)
      : options_(options),
        speculation_(std::move(speculation)),
        context_(context),
        executor_(std::move(executor)),
        paths_(std::move(paths)) {}

  // The size is that of an artifact. It is 0 for a checkpoint until that was compiled and loaded.
  std::uint64_t bytes(const std::string& name) override {
    const auto manifest = artifact::read_manifest(paths_.at(name));
    return manifest.ok() ? bytes_of(*manifest) : 0;
  }

  Result<serve::LoadedModel> load(const std::string& name,
                                  const std::atomic<bool>& cancel) override {
    engine::ModelLoadOptions load;
    load.chat_template_file = options_.chat_template_file;
    load.cancel = &cancel;
    serve::LoadedModel out;
    const std::string& path = paths_.at(name);
    const CacheRequest request{.threads = context_.threads,
                               .checks_hashes = options_.checks_hashes,
                               .context = options_.context,
                               .has_notes = has_notes()};
    // A progress bar would get between the lines of the log once the server runs.
    const bool has_bar = loads_++ < options_.models_at_start();
    ANEMONE_ASSIGN_OR_RETURN(out.model,
                             load_model(path, request, *executor_, load, has_bar ? "loading" : ""));
    if (out.model->tokenizer() == nullptr && has_notes())
      print_err("note: {} has no tokenizer: it answers requests with token ids alone\n",
                escaped(name));
    // Only HTTP has a way to ask for labels.
    if (!options_.is_http()) ANEMONE_RETURN_IF_ERROR(out.model->check_generates());
    ANEMONE_RETURN_IF_ERROR(engine::check_speculation(speculation_, *out.model).with("--draft"));
    ANEMONE_ASSIGN_OR_RETURN(const auto placed,
                             place_model(*out.model, options_.requires_ane, context_));
    if (placed) out.placement = placed->totals();
    out.bytes = bytes_of(out.model->manifest());
    return out;
  }

 private:
  // A log of JSON has no lines of text.
  bool has_notes() const { return options_.server.log_format == serve::LogFormat::kText; }

  const ServeOptions options_;
  const engine::SpeculationOptions speculation_;
  const Context& context_;
  const std::unique_ptr<exec::Executor> executor_;
  const std::map<std::string, std::string> paths_;  // by the first name
  std::size_t loads_ = 0;
};

}  // namespace

Result<std::unique_ptr<serve::ModelPool>> make_model_pool(
    const ServeOptions& options, const engine::SpeculationOptions& speculation,
    const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(auto names, model_names(options));
  ANEMONE_RETURN_IF_ERROR(check_require_ane(options.requires_ane, context));
  serve::ModelPoolOptions pool;
  pool.max_loaded = options.models_max;
  pool.queue = options.server.engine.queue;
  if (!options.keep_alive.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(pool.keep_alive, parse_duration(options.keep_alive, "--keep-alive"));
  }
  if (!options.models_memory.empty()) {
    ANEMONE_ASSIGN_OR_RETURN(pool.max_bytes, parse_size(options.models_memory, "--models-memory"));
  }
  std::map<std::string, std::string> paths;
  const std::size_t at_start = options.models_at_start();
  for (std::size_t i = 0; i < names.size(); ++i) {
    // The models that load at the start are looked for then.
    if (i >= at_start || pool.max_bytes > 0)
      ANEMONE_RETURN_IF_ERROR(find_model(options.models[i]).status());
    paths.emplace(names[i].front(), options.models[i]);
  }
  ANEMONE_ASSIGN_OR_RETURN(auto executor, api::make_executor(context.executor()));
  auto provider = std::make_unique<CommandLineModels>(options, speculation, context,
                                                      std::move(executor), std::move(paths));
  if (pool.max_bytes > 0)
    for (const std::vector<std::string>& of_model : names)
      if (const std::uint64_t bytes = provider->bytes(of_model.front()); bytes > pool.max_bytes)
        return invalid_argument("[--models-memory] expected at least the {} of {}, got {}",
                                format_bytes(bytes), of_model.front(), options.models_memory);
  return serve::ModelPool::create(std::move(names), std::move(provider), std::move(pool));
}

std::string describe_models(serve::ModelPool& models) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const serve::ModelLease model = models.peek(i);
    parts.push_back(fmt::format(
        "{} ({})", fmt::join(models.names(i), ", "),
        model == nullptr ? "not loaded"
                         : artifact::verdict_name(model->model->manifest().verification)));
  }
  return escaped(fmt::format("{}", fmt::join(parts, ", ")));
}

engine::EngineOptions engine_options(const ServeOptions& options, serve::ModelPool& models) {
  engine::EngineOptions out = options.server.engine;
  out.cache_bytes = options.cache_mb > 0 ? static_cast<std::uint64_t>(options.cache_mb) * 1'000'000
                                         : engine::default_cache_bytes();
  out.sequences = static_cast<std::size_t>(options.sequences);
  if (options.sequences == 0) {
    // The largest model decides, of those that are here.
    out.sequences = engine::kMostDefaultSequences;
    for (std::size_t i = 0; i < models.size(); ++i)
      if (const serve::ModelLease model = models.peek(i))
        out.sequences =
            std::min(out.sequences, engine::default_sequences(*model->model, out.cache_bytes));
  }
  // Each connection to a socket has one request at a time, and none is refused.
  if (!options.socket.empty()) out.queue = 1 << 16;
  return out;
}

}  // namespace anemone::cli
