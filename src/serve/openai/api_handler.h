// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/work_budget.h"
#include "serve/http/message.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// What stands behind the API: it has the models. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::vector<std::string> model_names() const = 0;
  // The reason why requests of a model fail until it is loaded again; ok otherwise. Clients see it,
  // so it names no paths. It is quick, as it is called on the thread of the connections.
  virtual Status check_health() const = 0;
  virtual Json counts() const = 0;
  // Takes a request over, with the headers that its answer is to have; or says at once why not, and
  // then the responder was not used. The budget is for all that is done before the call returns.
  virtual std::optional<ApiError> chat(ChatRequest request, std::shared_ptr<Responder> responder,
                                       const HeaderList& headers, WorkBudget& budget) = 0;
  virtual std::optional<ApiError> complete(CompletionRequest request,
                                           std::shared_ptr<Responder> responder,
                                           const HeaderList& headers, WorkBudget& budget) = 0;
};

struct ApiHandlerOptions {
  std::string api_key;                    // empty: none is needed
  std::vector<std::string> cors_origins;  // pages of these may use the server; "*": of all
  // Names that may stand in Host, besides localhost and addresses, so that a page that points its
  // own name at this machine (DNS rebinding) is kept out. nullopt: any name.
  std::optional<std::vector<std::string>> hosts;
  bool takes_addresses = false;  // in Host: any, not only those of loopback
  WorkBudget::Limits budget;     // of one request, for all that is done before it is queued
};

// GET /health, GET /v1/models[/ID], POST /v1/chat/completions, POST /v1/completions, the same
// without /v1. Thread-safe.
class ApiHandler : public HttpHandler {
 public:
  // The backend outlives the handler. `now` is the creation time that models are listed with.
  ApiHandler(ApiHandlerOptions options, Backend& backend, std::int64_t now)
      : options_(std::move(options)), backend_(backend), created_(now) {}

  // Everything but POST, and all that is wrong with a header.
  std::optional<HttpResponse> answer_head(const HttpRequest& head) override;
  void handle(HttpRequest request, std::shared_ptr<Responder> responder) override;
  HttpResponse refuse(int status, std::string_view reason) override;

 private:
  std::optional<ApiError> check_host(const std::string& host) const;
  std::optional<ApiError> check_access(const HttpRequest& request, bool is_public) const;
  std::optional<ApiError> check_body(const HttpRequest& request) const;
  HttpResponse get(std::string_view path, HeaderList headers) const;
  std::optional<ApiError> post(const HttpRequest& request,
                               const std::shared_ptr<Responder>& responder,
                               const HeaderList& headers) const;
  HeaderList common_headers(const HttpRequest* request);

  ApiHandlerOptions options_;
  Backend& backend_;
  std::int64_t created_;
  std::atomic<std::uint64_t> requests_ = 0;
};

// The response to a request that failed.
HttpResponse error_response(const ApiError& error, HeaderList headers);

// Whether the texts are equal, in a time that says nothing about where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace anemone::serve::openai
