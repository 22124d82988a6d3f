// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "api/executors.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/freed_memory.h"
#include "base/path.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "cli/placement.h"
#include "cli/serve_flags.h"
#include "cli/stop_signal.h"
#include "engine/loop/engine.h"
#include "engine/loop/engine_thread.h"
#include "serve/jsonl/connection.h"
#include "serve/jsonl/line_channel.h"
#include "serve/jsonl/socket_server.h"
#include "serve/openai_server.h"

namespace anemone::cli {
namespace {

// How long requests may go on after the first signal, and how long the process may.
constexpr std::chrono::milliseconds kGrace{7'500};
constexpr std::chrono::milliseconds kDeadline{9'500};

std::string name_of(const std::string& path) {
  const std::string name = last_name(path);
  return name.empty() ? path : name;
}

// The names of each model: a single model has all aliases, several models have one each.
Result<std::vector<std::vector<std::string>>> model_names(const ServeOptions& options) {
  std::vector<std::vector<std::string>> names;
  if (options.models.size() > 1 && !options.aliases.empty() &&
      options.aliases.size() != options.models.size())
    return invalid_argument("[--alias] expected a name for each of the {} models, got {}",
                            options.models.size(), options.aliases.size());
  for (std::size_t i = 0; i < options.models.size(); ++i) {
    if (options.aliases.empty())
      names.push_back({name_of(options.models[i])});
    else if (options.models.size() == 1)
      names.push_back(options.aliases);
    else
      names.push_back({options.aliases[i]});
  }
  return names;
}

Result<serve::ModelSet> load_models(const ServeOptions& options, const Context& context) {
  ANEMONE_ASSIGN_OR_RETURN(const auto names, model_names(options));
  ANEMONE_RETURN_IF_ERROR(check_require_ane(options.requires_ane, context));
  ANEMONE_ASSIGN_OR_RETURN(const auto executor, api::make_executor(context.executor()));
  std::vector<serve::ServedModel> models;
  for (std::size_t i = 0; i < names.size(); ++i) {
    engine::ModelLoadOptions load;
    load.chat_template_file = options.chat_template_file;
    ANEMONE_ASSIGN_OR_RETURN(
        auto model,
        load_model(options.models[i], {context.threads, options.checks_hashes}, *executor, load));
    // Only HTTP has a way to ask for labels.
    if (!options.is_http()) ANEMONE_RETURN_IF_ERROR(model->check_generates());
    ANEMONE_ASSIGN_OR_RETURN(const auto placed, place_model(*model, options.requires_ane, context));
    models.push_back({names[i], std::move(model), std::nullopt});
    if (placed) models.back().placement = placed->totals();
  }
  return serve::ModelSet::create(std::move(models));
}

// Describes the models in one line: their names, and the verdict of `verify` on each ("pocket, chat
// (unverified)").
std::string describe(const serve::ModelSet& models) {
  std::vector<std::string> parts;
  for (const serve::ServedModel& model : models.models())
    parts.push_back(fmt::format("{} ({})", fmt::join(model.names, ", "),
                                artifact::verdict_name(model.model->manifest().verification)));
  return escaped(fmt::format("{}", fmt::join(parts, ", ")));
}

// Writes to stderr without stdio, and only if there is room: a stopped terminal, or a pipe that
// nobody reads, must not keep the process alive.
void say_late(std::size_t cut_off) {
  // A count of 0 means that something other than a request hangs.
  const std::string text =
      cut_off == 0 ? std::string("anemone: the process ended before the server had stopped\n")
                   : fmt::format("anemone: cut off {} request{} that did not end in time\n",
                                 cut_off, cut_off == 1 ? "" : "s");
  pollfd wait = {STDERR_FILENO, POLLOUT, 0};
  if (::poll(&wait, 1, 0) > 0 && (wait.revents & POLLOUT) != 0) [[maybe_unused]]
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Serves the models over HTTP. The server listens already, and says that it is loading.
Status serve_http(const ServeOptions& options, std::unique_ptr<serve::OpenAiServer> server,
                  serve::ModelSet models, ReadyFile& ready, int stop) {
  const std::string names = describe(models);
  // Declared before the server, so that it lives until the server has gone with all its threads.
  std::atomic<std::size_t> cut_off = 0;
  const StopDeadline deadline(stop, kDeadline, [&] {
    ready.remove();
    say_late(cut_off);
  });
  const std::unique_ptr<serve::OpenAiServer> serving = std::move(server);
  serving->serve(std::move(models), options.server.engine);
  ANEMONE_RETURN_IF_ERROR(ready.write(serving->url()));
  const bool is_open =
      options.server.api_keys.empty() && !serve::is_loopback(options.server.http.host);
  const bool is_socket = !options.server.http.socket_path.empty();
  fmt::print(stderr, "anemone: serving {} on {}{}{}\n", names, escaped(serving->url()),
             is_socket ? "" : "/v1",
             is_open ? ", open to all who reach it (no --api-key-file)" : "");
  pollfd wait = {stop, POLLIN, 0};
  while (::poll(&wait, 1, -1) <= 0) continue;
  if (serving->stop(kGrace, &cut_off)) return {};
  say_late(cut_off);
  return Status(Code::kCancelled, "");  // that was its line
}

Status serve_socket(const ServeOptions& options, const serve::ModelSet& models, int stop) {
  serve::jsonl::SocketOptions socket;
  socket.path = options.socket;
  socket.lines.defaults = options.server.defaults;
  engine::Engine engine(options.server.engine);
  const engine::EngineThread turns(engine);
  ANEMONE_ASSIGN_OR_RETURN(const auto server,
                           serve::jsonl::SocketServer::listen(models, engine, socket));
  const StopDeadline deadline(stop, kDeadline, [&server] {
    server->remove_file();
    say_late(0);
  });
  ANEMONE_RETURN_IF_ERROR(print_json(serve::jsonl::ready_line(models, options.socket)));
  return server->run(stop);
}

Status serve_stdin(const ServeOptions& options, const serve::ModelSet& models, int stop) {
  serve::jsonl::LineOptions lines;
  lines.defaults = options.server.defaults;
  serve::jsonl::LineChannel channel(STDIN_FILENO, STDOUT_FILENO, stop, lines.max_line_bytes);
  ANEMONE_RETURN_IF_ERROR(print_json(serve::jsonl::ready_line(models, "")));
  const StopDeadline deadline(stop, kDeadline, [] { say_late(0); });
  engine::Engine engine(options.server.engine);
  const engine::EngineThread turns(engine);
  std::atomic<bool> cancel = false;
  return serve::jsonl::answer_channel(channel, models, engine, lines, cancel);
}

engine::EngineOptions engine_options(const ServeOptions& options, const serve::ModelSet& models) {
  engine::EngineOptions out = options.server.engine;
  out.cache_bytes = options.cache_mb > 0 ? static_cast<std::uint64_t>(options.cache_mb) * 1'000'000
                                         : engine::default_cache_bytes();
  out.sequences = static_cast<std::size_t>(options.sequences);
  // The largest model decides.
  if (options.sequences == 0)
    for (const serve::ServedModel& model : models.models()) {
      const std::size_t most = engine::default_sequences(*model.model, out.cache_bytes);
      out.sequences = out.sequences == 0 ? most : std::min(out.sequences, most);
    }
  // Each connection to a socket has one request at a time, and none is refused.
  if (!options.socket.empty()) out.queue = 1 << 16;
  return out;
}

// A name with a port or a scheme would fit no request and shut all clients out.
Status check_host_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_name = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '.' || c == '_';
    });
    if (!is_name && !serve::is_address(name))
      return invalid_argument(
          "[--allowed-host] expected a name or an address without a port or path, got \"{}\"",
          shortened(name, 60));
  }
  return {};
}

Status run_serve(ServeOptions options, const Context& context) {
  // What is wrong with them is said before the models are read.
  if (options.is_http()) {
    ANEMONE_RETURN_IF_ERROR(check_host_names(options.server.allowed_hosts));
    ANEMONE_ASSIGN_OR_RETURN(options.server.api_keys, read_api_keys(options.key));
    if (!options.tls_certificate.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(options.server.http.tls,
                               serve::TlsContext::load(options.tls_certificate, options.tls_key));
    }
    ANEMONE_ASSIGN_OR_RETURN(options.server.log_format,
                             serve::parse_log_format(options.log_format));
    ANEMONE_ASSIGN_OR_RETURN(options.server.pooling, engine::parse_pooling(options.pooling));
  }
  ANEMONE_RETURN_IF_ERROR(check_output_files(std::span(&options.ready_file, 1), options.models));
  ANEMONE_ASSIGN_OR_RETURN(ReadyFile ready, ReadyFile::prepare(options.ready_file));
  std::unique_ptr<serve::OpenAiServer> server;
  if (options.is_http()) {
    ANEMONE_ASSIGN_OR_RETURN(server, serve::OpenAiServer::listen(options.server));
  }
  ANEMONE_ASSIGN_OR_RETURN(serve::ModelSet models, load_models(options, context));
  options.server.engine = engine_options(options, models);
  std::vector<std::shared_ptr<const engine::Model>> loaded;
  for (const serve::ServedModel& model : models.models()) loaded.push_back(model.model);
  ANEMONE_ASSIGN_OR_RETURN(options.server.engine.speculation,
                           load_speculation(options.drafts, loaded, context));
  ANEMONE_ASSIGN_OR_RETURN(const int stop, catch_stop_signals());
  const FreedMemoryReturner returner;
  if (options.is_stdin) return serve_stdin(options, models, stop);
  if (!options.socket.empty()) return serve_socket(options, models, stop);
  return serve_http(options, std::move(server), std::move(models), ready, stop);
}

}  // namespace

void add_serve_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve models with the OpenAI API, or JSON lines");
  add_serve_flags(*command, *options);
  command->footer(
      "GET /v1/models, POST /v1/chat/completions, /v1/completions, /v1/embeddings and more: GET "
      "/openapi.json\nlists all. The first "
      "SIGINT or SIGTERM\nlets running requests end (the process ends within 10 s), a second one "
      "cuts them off. "
      "docs/guide/serve.md has "
      "the JSON lines.\n"
      "\n"
      "Examples:\n"
      "  anemone serve model.anemone                                # http://127.0.0.1:8080/v1\n"
      "  anemone serve model.anemone --host 0.0.0.0 --api-key-file key --parallel 4\n"
      "  anemone serve big.anemone small.anemone --alias big,small --port 0\n"
      "  echo '{\"prompt\": \"Once\", \"max_new\": 8}' | anemone serve model.anemone --stdin\n"
      "  anemone serve model.anemone --http-socket http.sock        # HTTP on no port\n"
      "  anemone serve model.anemone --socket lines.sock            # JSON lines");
  command->callback([options, &context] {
    context.action = [options, &context] { return run_serve(*options, context); };
  });
}

}  // namespace anemone::cli
