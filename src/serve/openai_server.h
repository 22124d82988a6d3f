// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/generation/text_request.h"
#include "engine/loop/engine.h"
#include "serve/http/server.h"
#include "serve/model_pool.h"
#include "serve/openai/key_limits.h"
#include "serve/request_log.h"
#include "serve/reread.h"

namespace anemone::serve {

struct OpenAiServerOptions {
  HttpOptions http;
  std::vector<openai::ApiKey> api_keys;             // any of them will do; none: no key is needed
  Reread<std::vector<openai::ApiKey>> reread_keys;  // null: they stay
  std::vector<std::string> cors_origins;
  // Names that clients may know the server by, besides addresses, localhost and http.host. If there
  // are none but a key is set, all names are allowed.
  std::vector<std::string> allowed_hosts;
  WorkBudget::Limits budget;  // of one request, for all that is done before it is queued
  engine::EngineOptions engine;
  engine::RequestDefaults defaults;
  // false: a server of one model answers requests of any model with it, since clients send the name
  // that they were set up with. true: the model has to be one of the server's names.
  bool is_strict_model = false;
  engine::Pooling pooling =
      engine::Pooling::kLast;  // of embeddings, where the request says nothing
  LogFormat log_format = LogFormat::kNone;
  int log_descriptor = 2;
};

// Models behind HTTP with the OpenAI API: what `anemone serve` is. Thread-safe.
class OpenAiServer {
 public:
  // Listens from here on, and says that it is loading until it has models. The errors are those of
  // HttpServer::start().
  static Result<std::unique_ptr<OpenAiServer>> listen(const OpenAiServerOptions& options);
  // Serves these models from here on, and loads and unloads them as they are asked for; once.
  void serve(std::unique_ptr<ModelPool> models, const engine::EngineOptions& engine);
  // Both.
  static Result<std::unique_ptr<OpenAiServer>> start(std::unique_ptr<ModelPool> models,
                                                     const OpenAiServerOptions& options);
  // Ends at once what stop() has not ended.
  ~OpenAiServer();
  OpenAiServer(const OpenAiServer&) = delete;
  OpenAiServer& operator=(const OpenAiServer&) = delete;

  std::string url() const;  // as that of HttpServer
  std::uint16_t port() const;
  // All zero before serve().
  engine::Engine::Counts counts() const;

  // Takes no more requests, lets those that run end within `grace`, then ends them. Whether all
  // came to their own end. `cut_off` is set to the number of those that did not, as soon as it is
  // known: before they are waited for.
  bool stop(std::chrono::milliseconds grace, std::atomic<std::size_t>* cut_off = nullptr);

 private:
  class Service;
  class Impl;
  explicit OpenAiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace anemone::serve
