// SPDX-License-Identifier: Apache-2.0
#include "serve/openai_server.h"

#include <utility>

#include "base/check.h"
#include "engine/loop/engine_thread.h"
#include "serve/engine_backend.h"
#include "serve/openai/api_handler.h"

namespace anemone::serve {
namespace {

// Time in which the last answers are sent after a stop.
constexpr std::chrono::milliseconds kFlushTime{1'000};

std::int64_t start_time() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
      .count();
}

openai::AccessOptions access_options(const OpenAiServerOptions& options) {
  openai::AccessOptions out;
  out.cors_origins = options.cors_origins;
  out.is_https = options.http.tls != nullptr;
  const bool is_local = is_loopback(options.http.host);
  // A page that has its own name point here does not know the key.
  if (!options.api_keys.empty() && options.allowed_hosts.empty()) return out;
  out.hosts = options.allowed_hosts;
  out.hosts->push_back(options.http.host);
  // Addresses are safe, since only a name can be pointed elsewhere; a server for the network has
  // several.
  out.takes_addresses = !is_local;
  return out;
}

}  // namespace

// The models of a server, and what runs them.
class OpenAiServer::Service {
 public:
  // The log outlives the service.
  Service(std::unique_ptr<ModelPool> models, const engine::EngineOptions& options,
          const BackendOptions& backend, const RequestLog& log)
      : models_(std::move(models)),
        engine_(options),
        turns_(std::make_unique<engine::EngineThread>(engine_)),
        backend_(*models_, engine_, backend) {
    models_->start({[this](const engine::Model& model) { engine_.forget(model); },
                    [&log](const ModelEvent& event) { log.write(event); }});
  }
  ~Service() { end_requests(); }
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  engine::Engine& engine() { return engine_; }
  EngineBackend& backend() { return backend_; }
  // Takes no more requests, and ends those that wait.
  void close() {
    models_->stop();
    engine_.close();
  }
  // Ends what runs. No request can be submitted from here on.
  void end_requests() {
    close();
    engine_.cancel_all();
    // While the engine turns, as a model may be about to be unloaded.
    models_->close();
    turns_.reset();
    engine_.end();
  }

 private:
  const std::unique_ptr<ModelPool> models_;
  engine::Engine engine_;
  std::unique_ptr<engine::EngineThread> turns_;
  EngineBackend backend_;
};

class OpenAiServer::Impl {
 public:
  explicit Impl(const OpenAiServerOptions& options)
      : backend_options{options.defaults, options.is_strict_model, options.pooling},
        log(options.log_format, options.log_descriptor),
        api_handler(
            {access_options(options), options.budget, options.api_keys, options.reread_keys}, log,
            start_time()) {}
  // Requests are answered through the HTTP server, so they end before it.
  ~Impl() {
    if (service != nullptr) service->end_requests();
  }

  const BackendOptions backend_options;
  const RequestLog log;
  std::unique_ptr<Service> service;  // null until there are models
  openai::ApiHandler api_handler;
  std::unique_ptr<HttpServer> http;
};

Result<std::unique_ptr<OpenAiServer>> OpenAiServer::listen(const OpenAiServerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  ANEMONE_ASSIGN_OR_RETURN(impl->http, HttpServer::start(options.http, impl->api_handler));
  return std::unique_ptr<OpenAiServer>(new OpenAiServer(std::move(impl)));
}

void OpenAiServer::serve(std::unique_ptr<ModelPool> models, const engine::EngineOptions& engine) {
  ANEMONE_CHECK(impl_->service == nullptr);
  impl_->service =
      std::make_unique<Service>(std::move(models), engine, impl_->backend_options, impl_->log);
  impl_->api_handler.set_backend(impl_->service->backend());
}

Result<std::unique_ptr<OpenAiServer>> OpenAiServer::start(std::unique_ptr<ModelPool> models,
                                                          const OpenAiServerOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(auto server, listen(options));
  server->serve(std::move(models), options.engine);
  return server;
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
  return impl_->service == nullptr ? engine::Engine::Counts() : impl_->service->engine().counts();
}

bool OpenAiServer::stop(std::chrono::milliseconds grace, std::atomic<std::size_t>* cut_off) {
  impl_->http->stop_accepting();
  std::size_t count = 0;
  if (impl_->service != nullptr) {
    engine::Engine& engine = impl_->service->engine();
    impl_->service->close();
    engine.wait_until_idle(grace);
    count = engine.cancel_all();
    if (cut_off != nullptr) *cut_off = count;
    impl_->service->end_requests();
  }
  impl_->http->wait_until_idle(kFlushTime);
  return count == 0;
}

}  // namespace anemone::serve
