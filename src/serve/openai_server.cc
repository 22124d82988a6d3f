// SPDX-License-Identifier: Apache-2.0
#include "serve/openai_server.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/loop/engine_thread.h"
#include "serve/engine_backend.h"

namespace anemone::serve {
namespace {

// Time in which the last answers are sent after a stop.
constexpr std::chrono::milliseconds kFlushTime{1'000};

std::int64_t start_time() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

openai::ApiHandlerOptions handler_options(const OpenAiServerOptions& options) {
  openai::ApiHandlerOptions out;
  out.api_key = options.api_key;
  out.cors_origins = options.cors_origins;
  out.budget = options.budget;
  const bool is_local = is_loopback(options.http.host);
  // A page that has its own name point here does not know the key.
  if (!is_local && !options.api_key.empty() && options.allowed_hosts.empty()) return out;
  out.hosts = options.allowed_hosts;
  out.hosts->push_back(options.http.host);
  // Addresses are safe, since only a name can be pointed elsewhere; a server for the network has
  // several.
  out.takes_addresses = !is_local;
  return out;
}

}  // namespace

class OpenAiServer::Impl {
 public:
  Impl(ModelSet served, const OpenAiServerOptions& options)
      : models(std::move(served)),
        engine(std::make_unique<engine::Engine>(options.engine)),
        turns(std::make_unique<engine::EngineThread>(*engine)),
        backend(models, *engine, options.defaults),
        api_handler(handler_options(options), backend, start_time()) {}
  // Requests are answered through the HTTP server, so they end before it.
  ~Impl() { end_requests(); }

  // Ends what runs. No request can be submitted from here on.
  void end_requests() {
    engine->close();
    engine->cancel_all();
    turns.reset();
    engine->end();
  }

  ModelSet models;
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::EngineThread> turns;
  EngineBackend backend;
  openai::ApiHandler api_handler;
  std::unique_ptr<HttpServer> http;
};

Result<std::unique_ptr<OpenAiServer>> OpenAiServer::start(ModelSet models,
                                                          const OpenAiServerOptions& options) {
  auto impl = std::make_unique<Impl>(std::move(models), options);
  ANEMONE_ASSIGN_OR_RETURN(impl->http, HttpServer::start(options.http, impl->api_handler));
  return std::unique_ptr<OpenAiServer>(new OpenAiServer(std::move(impl)));
}

OpenAiServer::OpenAiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OpenAiServer::~OpenAiServer() = default;

std::string OpenAiServer::url() const {
  return impl_->http->url();
}
std::uint16_t OpenAiServer::port() const {
  return impl_->http->port();
}
engine::Engine::Counts OpenAiServer::counts() const {
  return impl_->engine->counts();
}

bool OpenAiServer::stop(std::chrono::milliseconds grace, std::atomic<std::size_t>* cut_off) {
  impl_->http->stop_accepting();
  impl_->engine->close();
  impl_->engine->wait_until_idle(grace);
  const std::size_t count = impl_->engine->cancel_all();
  if (cut_off != nullptr) *cut_off = count;
  impl_->end_requests();
  impl_->http->wait_until_idle(kFlushTime);
  return count == 0;
}

}  // namespace anemone::serve
