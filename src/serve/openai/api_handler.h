// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/work_budget.h"
#include "serve/http/message.h"
#include "serve/openai/access.h"
#include "serve/openai/backend.h"
#include "serve/openai/key_limits.h"
#include "serve/openai/key_ring.h"
#include "serve/openai/response.h"
#include "serve/openai/route.h"
#include "serve/request_log.h"

namespace anemone::serve::openai {

struct ApiHandlerOptions {
  AccessOptions access;
  WorkBudget::Limits budget;  // of one request, for all that is done before it is queued
  std::vector<ApiKey> api_keys;
  Reread<std::vector<ApiKey>> reread_keys;  // null: they stay
};

// Answers the requests of the table of routes (route.h). Thread-safe.
class ApiHandler : public HttpHandler {
 public:
  // The log outlives the handler. `now` is the creation time that models are listed with.
  ApiHandler(ApiHandlerOptions options, const RequestLog& log, std::int64_t now)
      : options_(std::move(options)),
        access_(options_.access),
        keys_(options_.api_keys, options_.reread_keys),
        log_(log),
        created_(now) {}

  // Until there is a backend, which is used as long as there are requests, the server is loading
  // its models.
  void set_backend(Backend& backend) { backend_ = &backend; }

  // Everything but POST, and all that is wrong with a header.
  std::optional<HttpResponse> answer_head(HttpRequest& head) override;
  void handle(HttpRequest request, std::shared_ptr<Responder> responder) override;
  HttpResponse refuse(int status, std::string_view reason) override;

 private:
  // A request that is being answered, or waits for its model. Its body counts with those of others
  // all the while.
  struct Pending {
    HttpRequest request;
    std::shared_ptr<Responder> responder;
    HeaderList headers;  // of the answer
    const Route* route = nullptr;
  };

  std::optional<HttpResponse> answer_head(HttpRequest& head, const RouteMatch& match,
                                          HeaderList headers);
  // Has the route answer, from the beginning; the lease may be null.
  void answer(Pending& pending, ModelLease model);
  void wait_for_model(Pending pending, std::size_t model);
  // On a thread of the pool.
  void go_on(Pending& pending, Result<ModelLease> model) noexcept;
  std::optional<ApiError> check_body(const HttpRequest& request) const;
  HeaderList common_headers(const HttpRequest* request);

  const ApiHandlerOptions options_;
  const Access access_;
  KeyRing keys_;
  const RequestLog& log_;
  const std::int64_t created_;
  std::atomic<Backend*> backend_ = nullptr;
  std::atomic<std::uint64_t> requests_ = 0;
};

}  // namespace anemone::serve::openai
