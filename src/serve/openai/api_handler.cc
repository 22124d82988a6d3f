// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/api_handler.h"

#include <fmt/format.h>
#include <utility>

#include "base/escape.h"
#include "base/log.h"
#include "engine/loop/guarded.h"
#include "serve/admitted_responder.h"
#include "serve/logged_responder.h"

namespace anemone::serve::openai {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr std::size_t kMaxLogged = 200;

// "application/json" of "application/json; charset=utf-8".
std::string_view media_type(std::string_view value) {
  value = value.substr(0, value.find(';'));
  while (value.ends_with(' ')) value.remove_suffix(1);
  return value;
}

LogEntry entry_of(const HttpRequest& request, const HeaderList& headers) {
  LogEntry entry;
  entry.method = shortened(request.method, kMaxLogged);
  entry.path = shortened(request.path(), kMaxLogged);
  entry.id = headers.front().second;
  return entry;
}

}  // namespace

HeaderList ApiHandler::common_headers(const HttpRequest* request) {
  HeaderList headers = {{"X-Request-Id", fmt::format("req_{:08x}{:08x}", created_, ++requests_)}};
  if (request != nullptr) access_.add_headers(*request, headers);
  return headers;
}

HttpResponse ApiHandler::refuse(int status, std::string_view reason) {
  const HeaderList headers = common_headers(nullptr);
  HttpResponse answer = error_response(http_error(status, reason), headers);
  if (log_.is_on()) {
    // What was sent may be no request.
    LogEntry entry;
    entry.method = entry.path = "-";
    entry.id = headers.front().second;
    entry.set_answer(answer);
    log_.write(entry);
  }
  return answer;
}

std::optional<ApiError> ApiHandler::check_body(const HttpRequest& request) const {
  const std::string* coding = request.header("Content-Encoding");
  if (coding != nullptr && !equal_ignoring_case(*coding, "identity"))
    return http_error(415, "[Content-Encoding] expected none");
  const std::string* expect = request.header("Expect");
  if (expect != nullptr && !equal_ignoring_case(*expect, "100-continue"))
    return http_error(417, "[Expect] expected 100-continue");
  // Besides, a page of another origin cannot send this type without asking first.
  const std::string* type = request.header("Content-Type");
  if (type != nullptr && !equal_ignoring_case(media_type(*type), kJsonType))
    return http_error(415, fmt::format("[Content-Type] expected application/json, got {} (curl: -H "
                                       "'Content-Type: application/json')",
                                       shortened(*type, kMaxLogged)));
  return std::nullopt;
}

std::optional<HttpResponse> ApiHandler::answer_head(HttpRequest& head, const RouteMatch& match,
                                                    HeaderList headers) {
  const bool is_options = head.method == "OPTIONS";
  const bool is_known = !match.methods.empty();
  std::optional<std::size_t> key;
  const auto keys = keys_.current();
  std::optional<ApiError> error =
      access_.check(head, match.is_public || is_options, keys->keys(), key);
  if (!error && !is_known)
    error = http_error(404, fmt::format("[{}] expected a path of this server, such as "
                                        "/v1/chat/completions (GET /openapi.json lists all)",
                                        shortened(head.path(), kMaxLogged)));
  if (!error && is_options) {
    headers.emplace_back("Allow", match.methods);
    return HttpResponse{204, std::move(headers), ""};
  }
  if (!error && match.route == nullptr) {
    headers.emplace_back("Allow", match.methods);
    error = http_error(405, fmt::format("[{}] expected one of {}",
                                        shortened(head.method, kMaxLogged), match.methods));
  }
  const bool is_post = match.route != nullptr && match.route->post != nullptr;
  if (!error && is_post) error = check_body(head);
  const Backend* const backend = backend_;
  if (!error && backend == nullptr && !match.route->answers_loading) {
    error = http_error(503, "[server] is loading its models: try again later");
    error->code = "loading";
  }
  // What is only told takes no time, so the limits of keys are for POST.
  if (!error && is_post && key) error = keys->admit(*key, KeyUsage::Clock::now(), head.admission);
  if (error) return error_response(*error, std::move(headers));
  if (is_post) return std::nullopt;
  return match.route->get(backend, {match.parameter, head.query(), created_, std::move(headers)});
}

std::optional<HttpResponse> ApiHandler::answer_head(HttpRequest& head) {
  ANEMONE_INFO("{} {}", head.method, shortened(head.path(), kMaxLogged));
  const RouteMatch match = find_route(head.path(), head.method);
  const HeaderList headers = common_headers(&head);
  std::optional<HttpResponse> answer = answer_head(head, match, headers);
  const bool is_polled = match.route != nullptr && match.route->is_polled;
  if (answer && log_.is_on() && !(is_polled && answer->status == 200)) {
    LogEntry entry = entry_of(head, headers);
    entry.set_answer(*answer);
    log_.write(entry);
  }
  return answer;
}

void ApiHandler::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  const HeaderList headers = common_headers(&request);
  const RouteMatch match = find_route(request.path(), request.method);
  if (request.admission != nullptr)
    responder =
        std::make_shared<AdmittedResponder>(std::move(responder), std::move(request.admission));
  if (log_.is_on())
    responder =
        std::make_shared<LoggedResponder>(std::move(responder), log_, entry_of(request, headers));
  Pending pending{std::move(request), std::move(responder), headers, match.route};
  answer(pending, nullptr);
}

void ApiHandler::answer(Pending& pending, ModelLease model) {
  WorkBudget budget("request", options_.budget, &pending.responder->is_cancelled());
  Call call{pending.responder, pending.headers, budget, std::move(model)};
  // answer_head() let nothing else through, and a backend stays.
  const auto error = pending.route->post(*backend_, pending.request.body, call);
  if (error)
    pending.responder->respond(error_response(*error, pending.headers));
  else if (call.awaited)
    wait_for_model(std::move(pending), *call.awaited);
}

void ApiHandler::wait_for_model(Pending pending, std::size_t model) {
  Backend& backend = *backend_;
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  // Before it waits: what is done with a lease sets a callback of its own.
  pending.responder->on_disconnect([&backend, weak = std::weak_ptr(cancel)] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    *alive = true;
    backend.look_again();
  });
  const auto waiting = std::make_shared<Pending>(std::move(pending));
  const Status status = backend.lease_later(
      model, cancel,
      [this, waiting](Result<ModelLease> lease) { go_on(*waiting, std::move(lease)); });
  if (!status.ok())
    waiting->responder->respond(error_response(api_error(status), waiting->headers));
}

void ApiHandler::go_on(Pending& pending, Result<ModelLease> model) noexcept {
  const auto respond = [&](const ApiError& error) {
    pending.responder->respond(error_response(error, pending.headers));
  };
  const Status status = engine::guarded([&]() -> Status {
    if (model.ok()) {
      answer(pending, *std::move(model));
    } else {
      ApiError error = api_error(model.status());
      if (model.status().code() == Code::kInternal) error.code = "model_load_failed";
      respond(error);
    }
    return {};
  });
  if (status.ok()) return;
  const Status ignored = engine::guarded([&]() -> Status {
    if (status.code() == Code::kInternal) ANEMONE_WARN("{}", status.message());
    respond(status.code() == Code::kInternal ? http_error(500, "[server] failed on this request")
                                             : api_error(status));
    return {};
  });
}

}  // namespace anemone::serve::openai
