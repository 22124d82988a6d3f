// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
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

#include "base/error.h"
#include "base/escape.h"
#include "base/freed_memory.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/output_place.h"
#include "cli/serve_flags.h"
#include "cli/serve_lines.h"
#include "cli/serve_models.h"
#include "cli/serve_reread.h"
#include "cli/stop_signal.h"
#include "engine/loop/engine.h"
#include "engine/loop/engine_thread.h"
#include "serve/jsonl/connection.h"
#include "serve/jsonl/line_channel.h"
#include "serve/jsonl/socket_server.h"
#include "serve/openai_server.h"
#include "serve/request_log.h"

namespace anemone::cli {
namespace {

// How long requests may go on after the first signal, and how long the process may.
constexpr std::chrono::milliseconds kGrace{7'500};
constexpr std::chrono::milliseconds kDeadline{9'500};

// Does not wait for whoever reads stderr, which would keep the process alive.
void say_late(std::size_t cut_off, serve::LogFormat format) {
  // A count of 0 means that something other than a request hangs.
  const std::string text =
      cut_off == 0 ? server_line(format, "ended_before_stop", Json::object(),
                                 "the process ended before the server had stopped")
                   : server_line(format, "requests_cut_off", {{"requests", cut_off}},
                                 fmt::format("cut off {} request{} that did not end in time",
                                             cut_off, cut_off == 1 ? "" : "s"));
  write_if_there_is_room(text);
}

// Serves the models over HTTP. The server listens already, and says that it is loading.
Status serve_http(const ServeOptions& options, std::unique_ptr<serve::OpenAiServer> server,
                  std::unique_ptr<serve::ModelPool> models, ReadyFile& ready, int stop) {
  const std::string names = describe_models(*models);
  // Declared before the server, so that it lives until the server has gone with all its threads.
  std::atomic<std::size_t> cut_off = 0;
  const StopDeadline deadline(stop, kDeadline, [&] {
    ready.remove();
    say_late(cut_off, options.server.log_format);
  });
  const std::unique_ptr<serve::OpenAiServer> serving = std::move(server);
  serving->serve(std::move(models), options.server.engine);
  ANEMONE_RETURN_IF_ERROR(ready.write(serving->url()));
  const bool is_open =
      options.server.api_keys.empty() && !serve::is_loopback(options.server.http.host);
  const bool is_socket = !options.server.http.socket_path.empty();
  const std::string url = serving->url() + (is_socket ? "" : "/v1");
  print_err("{}", server_line(options.server.log_format, "serving",
                              {{"models", names}, {"url", url}, {"open_to_all", is_open}},
                              fmt::format("serving {} on {}{}", names, escaped(url),
                                          is_open ? ", open to all who reach it (no --api-key-file)"
                                                  : "")));
  pollfd wait = {stop, POLLIN, 0};
  while (::poll(&wait, 1, -1) <= 0) continue;
  interrupt_flag() = true;  // for a model that is being compiled
  if (serving->stop(kGrace, &cut_off)) return {};
  say_late(cut_off, options.server.log_format);
  return Status(Code::kCancelled, "");  // that was its line
}

// The engine of JSON lines, its thread, and the models while they are loaded and unloaded.
class LinesEngine {
 public:
  LinesEngine(serve::ModelPool& models, const serve::OpenAiServerOptions& options)
      : models_(models),
        log_(options.log_format, options.log_descriptor),
        engine_(options.engine),
        turns_(engine_) {
    models_.start({[this](const engine::Model& model) { engine_.forget(model); },
                   [this](const serve::ModelEvent& event) { log_.write(event); }});
  }
  // The engine still turns here: a model that is about to be unloaded needs it.
  ~LinesEngine() { models_.close(); }
  LinesEngine(const LinesEngine&) = delete;
  LinesEngine& operator=(const LinesEngine&) = delete;

  engine::Engine& engine() { return engine_; }

 private:
  serve::ModelPool& models_;
  const serve::RequestLog log_;
  engine::Engine engine_;
  const engine::EngineThread turns_;
};

Status serve_socket(const ServeOptions& options, serve::ModelPool& models, int stop) {
  serve::jsonl::SocketOptions socket;
  socket.path = options.socket;
  socket.lines.defaults = options.server.defaults;
  LinesEngine lines(models, options.server);
  ANEMONE_ASSIGN_OR_RETURN(const auto server,
                           serve::jsonl::SocketServer::listen(models, lines.engine(), socket));
  const StopDeadline deadline(stop, kDeadline, [&server, &options] {
    server->remove_file();
    say_late(0, options.server.log_format);
  });
  ANEMONE_RETURN_IF_ERROR(print_json(serve::jsonl::ready_line(models, options.socket)));
  return server->run(stop);
}

Status serve_stdin(const ServeOptions& options, serve::ModelPool& models, int stop) {
  serve::jsonl::LineOptions lines;
  lines.defaults = options.server.defaults;
  serve::jsonl::LineChannel channel(STDIN_FILENO, STDOUT_FILENO, stop, lines.max_line_bytes);
  ANEMONE_RETURN_IF_ERROR(print_json(serve::jsonl::ready_line(models, "")));
  const StopDeadline deadline(stop, kDeadline,
                              [&options] { say_late(0, options.server.log_format); });
  LinesEngine engine(models, options.server);
  std::atomic<bool> cancel = false;
  return serve::jsonl::answer_channel(channel, models, engine.engine(), lines, cancel);
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

// Refuses "127.0.0.1:9000", which no resolver knows.
Status check_listen_host(const std::string& host) {
  const std::size_t colon = host.find(':');
  const bool has_port = colon != host.npos && colon == host.rfind(':') &&
                        host.find_first_not_of("0123456789", colon + 1) == host.npos;
  if (!has_port) return {};
  return invalid_argument("[--host] expected an address without a port, got {} (--port sets it)",
                          shortened(host, 60));
}

// Browsers write the header Origin in one form; an origin in another one would fit no page.
Status check_origins(const std::vector<std::string>& origins) {
  for (const std::string& origin : origins) {
    const std::size_t scheme = origin.find("://");
    const bool is_origin = scheme != origin.npos && scheme > 0 && scheme + 3 < origin.size() &&
                           origin.find_first_of("/ ", scheme + 3) == origin.npos;
    if (origin != "*" && origin != "null" && !is_origin)
      return invalid_argument(
          "[--cors] expected * or an origin such as https://chat.example, without a path, got {}",
          shortened(origin, 60));
  }
  return {};
}

Status run_serve(ServeOptions options, const Context& context) {
  // Errors of flags are said before the models are read.
  ANEMONE_ASSIGN_OR_RETURN(options.server.log_format, serve::parse_log_format(options.log_format));
  if (options.is_http()) {
    ANEMONE_RETURN_IF_ERROR(check_host_names(options.server.allowed_hosts));
    ANEMONE_RETURN_IF_ERROR(check_listen_host(options.server.http.host));
    ANEMONE_RETURN_IF_ERROR(check_origins(options.server.cors_origins));
    options.server.reread_keys = reread_keys(options);
    ANEMONE_ASSIGN_OR_RETURN(options.server.api_keys, read_api_keys(options.key));
    options.server.http.reread_tls = reread_certificate(options);
    if (!options.tls_certificate.empty()) {
      ANEMONE_ASSIGN_OR_RETURN(options.server.http.tls,
                               serve::TlsContext::load(options.tls_certificate, options.tls_key));
      if (const std::string warning = options.server.http.tls->warning(); !warning.empty())
        print_err("{}",
                  server_line(options.server.log_format, "tls_certificate", {{"warning", warning}},
                              fmt::format("[--tls-cert] {}", warning)));
    }
    ANEMONE_ASSIGN_OR_RETURN(options.server.pooling, engine::parse_pooling(options.pooling));
  }
  ANEMONE_RETURN_IF_ERROR(check_output_files(std::span(&options.ready_file, 1), options.models));
  ANEMONE_ASSIGN_OR_RETURN(ReadyFile ready, ReadyFile::prepare(options.ready_file));
  std::unique_ptr<serve::OpenAiServer> server;
  if (options.is_http()) {
    ANEMONE_ASSIGN_OR_RETURN(server, serve::OpenAiServer::listen(options.server));
  }
  engine::SpeculationOptions speculation;
  ANEMONE_ASSIGN_OR_RETURN(speculation, load_speculation(options.drafts, {}, context));
  ANEMONE_ASSIGN_OR_RETURN(auto models, make_model_pool(options, speculation, context));
  if (!options.is_lazy) ANEMONE_RETURN_IF_ERROR(models->load_first());
  options.server.engine = engine_options(options, *models);
  options.server.engine.speculation = std::move(speculation);
  ANEMONE_ASSIGN_OR_RETURN(const int stop, catch_stop_signals());
  const FreedMemoryReturner returner;
  if (options.is_stdin) return serve_stdin(options, *models, stop);
  if (!options.socket.empty()) return serve_socket(options, *models, stop);
  return serve_http(options, std::move(server), std::move(models), ready, stop);
}

}  // namespace

void add_serve_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command =
      app.add_subcommand("serve", "Serve models with the OpenAI API, or JSON lines");
  add_serve_flags(*command, *options, context);
  command->footer(
      "GET /v1/models, POST /v1/chat/completions, /v1/completions, /v1/embeddings and more: GET "
      "/openapi.json lists all. The first SIGINT, SIGTERM or SIGHUP lets running requests end (the "
      "process ends within 10 s), a second one cuts them off. docs/guide/serve.md has the JSON "
      "lines.\n"
      "\n"
      "Examples:\n"
      "  anemone serve model.anemone                                # http://127.0.0.1:8080/v1\n"
      "  anemone serve model.anemone --host 0.0.0.0 --api-key-file key --parallel 4\n"
      "  anemone serve big.anemone small.anemone --alias big,small --port 0\n"
      "  anemone serve big.anemone small.anemone --models-max 1 --keep-alive 10m\n"
      "  echo '{\"prompt\": \"Once\", \"max_new\": 8}' | anemone serve model.anemone --stdin\n"
      "  anemone serve model.anemone --http-socket http.sock        # HTTP on no port\n"
      "  anemone serve model.anemone --socket lines.sock            # JSON lines");
  command->callback([options, &context] {
    context.action = [options, &context] { return run_serve(*options, context); };
  });
}

}  // namespace anemone::cli
