// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/api_handler.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "base/log.h"
#include "serve/openai/answer.h"

namespace anemone::serve::openai {
namespace {

constexpr const char* kJsonType = "application/json";
constexpr std::size_t kMaxShown = 200;
constexpr std::string_view kModelsPrefix = "/models/";

enum class Route { kUnknown, kHealth, kModels, kModel, kChat, kCompletions };

// Clients are given the address of the server with or without the version, and leave it out or add
// it: "/v1/models" and "/models" are the same.
std::string_view without_version(std::string_view path) {
  constexpr std::string_view kVersion = "/v1";
  if (path.starts_with(kVersion) && path.substr(kVersion.size()).starts_with('/'))
    path.remove_prefix(kVersion.size());
  return path;
}

Route route_of(std::string_view path) {
  path = without_version(path);
  if (path == "/health") return Route::kHealth;
  if (path == "/models") return Route::kModels;
  if (path == "/chat/completions") return Route::kChat;
  if (path == "/completions") return Route::kCompletions;
  if (path.starts_with(kModelsPrefix) && path.size() > kModelsPrefix.size()) return Route::kModel;
  return Route::kUnknown;
}

bool takes_post(Route route) {
  return route == Route::kChat || route == Route::kCompletions;
}

const char* allowed_methods(Route route) {
  return takes_post(route) ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

// "localhost" of "localhost:8080", "::1" of "[::1]:8080"; nullopt where something else follows.
std::optional<std::string_view> host_name(std::string_view host) {
  const bool is_bracketed = host.starts_with('[');
  const std::size_t end = is_bracketed ? host.find(']') : host.find(':');
  if (is_bracketed && end == host.npos) return std::nullopt;
  const std::string_view name = is_bracketed ? host.substr(1, end - 1) : host.substr(0, end);
  const std::string_view rest =
      end == host.npos ? std::string_view() : host.substr(end + (is_bracketed ? 1 : 0));
  const bool is_port =
      rest.starts_with(':') && rest.find_first_not_of("0123456789", 1) == rest.npos;
  if (!rest.empty() && !is_port) return std::nullopt;
  return name;
}

// "application/json" of "application/json; charset=utf-8".
std::string_view media_type(std::string_view value) {
  value = value.substr(0, value.find(';'));
  while (value.ends_with(' ')) value.remove_suffix(1);
  return value;
}

HttpResponse json_response(const Json& body, HeaderList headers) {
  headers.emplace_back("Content-Type", kJsonType);
  return {200, std::move(headers), dump_json(body)};
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  // The length of what the client sent is no secret.
  std::size_t difference = a.size() ^ b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^
                  static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]);
  return difference == 0;
}

HttpResponse error_response(const ApiError& error, HeaderList headers) {
  headers.emplace_back("Content-Type", kJsonType);
  if (error.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503) headers.emplace_back("Retry-After", "1");
  return {error.status, std::move(headers), dump_json(to_json(error))};
}

HeaderList ApiHandler::common_headers(const HttpRequest* request) {
  HeaderList headers = {{"X-Request-Id", fmt::format("req_{:08x}{:08x}", created_, ++requests_)}};
  const std::string* origin = request == nullptr ? nullptr : request->header("Origin");
  if (origin == nullptr) return headers;
  const auto& allowed = options_.cors_origins;
  const bool is_any = std::ranges::find(allowed, "*") != allowed.end();
  if (!is_any && std::ranges::find(allowed, *origin) == allowed.end()) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", is_any ? "*" : *origin);
  if (!is_any) headers.emplace_back("Vary", "Origin");
  if (request->method != "OPTIONS") return headers;
  headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
  // Whatever the page asks for: SDKs send headers of their own.
  const std::string* wanted = request->header("Access-Control-Request-Headers");
  headers.emplace_back("Access-Control-Allow-Headers",
                       wanted == nullptr ? "Authorization, Content-Type" : *wanted);
  headers.emplace_back("Access-Control-Max-Age", "600");
  return headers;
}

HttpResponse ApiHandler::refuse(int status, std::string_view reason) {
  return error_response(http_error(status, reason), common_headers(nullptr));
}

std::optional<ApiError> ApiHandler::check_host(const std::string& host) const {
  const auto name = host_name(host);
  if (!name) return http_error(400, "[Host] expected a name and a port");
  if (!options_.hosts) return std::nullopt;
  const bool is_known = is_loopback(*name) || (options_.takes_addresses && is_address(*name)) ||
                        std::ranges::any_of(*options_.hosts, [&](const std::string& known) {
                          return equal_ignoring_case(*name, known);
                        });
  if (is_known) return std::nullopt;
  return http_error(403,
                    "[Host] expected a name of this machine, got another (see --allowed-host)");
}

std::optional<ApiError> ApiHandler::check_access(const HttpRequest& request, bool is_public) const {
  const std::string* host = request.header("Host");
  if (host != nullptr) {
    if (auto error = check_host(*host)) return error;
  }
  // A page of another origin may send a plain POST without asking first.
  const std::string* origin = request.header("Origin");
  if (origin != nullptr && request.method == "POST") {
    const auto& allowed = options_.cors_origins;
    const bool is_same = host != nullptr && (*origin == "http://" + *host);
    const bool is_allowed = std::ranges::any_of(
        allowed, [&](const std::string& known) { return known == "*" || known == *origin; });
    if (!is_same && !is_allowed)
      return http_error(403, "[Origin] expected a page that may use this server (see --cors)");
  }
  if (options_.api_key.empty() || is_public) return std::nullopt;
  std::string_view key;
  constexpr std::string_view kBearer = "Bearer ";
  if (const std::string* value = request.header("Authorization")) {
    if (equal_ignoring_case(std::string_view(*value).substr(0, kBearer.size()), kBearer))
      key = std::string_view(*value).substr(kBearer.size());
  } else if (const std::string* other = request.header("X-Api-Key")) {
    key = *other;
  }
  if (equal_in_constant_time(key, options_.api_key)) return std::nullopt;
  return http_error(401, key.empty() ? "[Authorization] expected \"Bearer\" and the API key"
                                     : "[Authorization] expected the API key, got another");
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
    return http_error(415, "[Content-Type] expected application/json");
  return std::nullopt;
}

std::optional<HttpResponse> ApiHandler::answer_head(const HttpRequest& head) {
  const Route route = route_of(head.path());
  ANEMONE_INFO("{} {}", head.method, shortened(head.path(), kMaxShown));
  const bool is_post = takes_post(route);
  const bool is_get = head.method == "GET" || head.method == "HEAD";
  const bool is_options = head.method == "OPTIONS";
  std::optional<ApiError> error = check_access(head, route == Route::kHealth || is_options);
  HeaderList headers = common_headers(&head);
  if (!error && route == Route::kUnknown)
    error = http_error(404, fmt::format("[{}] expected a path of this server, such as "
                                        "/v1/chat/completions",
                                        shortened(head.path(), kMaxShown)));
  if (!error && is_options) {
    headers.emplace_back("Allow", allowed_methods(route));
    return HttpResponse{204, std::move(headers), ""};
  }
  if (!error && (is_post ? head.method != "POST" : !is_get)) {
    headers.emplace_back("Allow", allowed_methods(route));
    error = http_error(405, fmt::format("[{}] expected one of {}",
                                        shortened(head.method, kMaxShown), allowed_methods(route)));
  }
  if (!error && is_post) error = check_body(head);
  if (error) return error_response(*error, std::move(headers));
  if (is_post) return std::nullopt;
  return get(head.path(), std::move(headers));
}

HttpResponse ApiHandler::get(std::string_view path, HeaderList headers) const {
  const Route route = route_of(path);
  const auto names = backend_.model_names();
  if (route == Route::kHealth) {
    const Status health = backend_.check_health();
    Json body = {{"status", health.ok() ? "ok" : "error"},
                 {"models", names},
                 {"requests", backend_.counts()}};
    if (!health.ok()) body["error"] = health.message();
    HttpResponse response = json_response(body, std::move(headers));
    if (!health.ok()) response.status = 503;
    return response;
  }
  if (route == Route::kModels) {
    Json list = Json::array();
    for (const std::string& name : names) list.push_back(model_json(name, created_));
    return json_response({{"object", "list"}, {"data", std::move(list)}}, std::move(headers));
  }
  std::string name;
  if (!percent_decode(without_version(path).substr(kModelsPrefix.size()), name))
    return error_response(http_error(400, "[path] expected % and two hex digits"),
                          std::move(headers));
  if (std::ranges::find(names, name) == names.end())
    return error_response(
        api_error(Status(Code::kNotFound,
                         fmt::format("[model] expected a model of this server, got \"{}\"",
                                     shortened(name, kMaxShown)))),
        std::move(headers));
  return json_response(model_json(name, created_), std::move(headers));
}

std::optional<ApiError> ApiHandler::post(const HttpRequest& request,
                                         const std::shared_ptr<Responder>& responder,
                                         const HeaderList& headers) const {
  WorkBudget budget("request", options_.budget, &responder->is_cancelled());
  if (route_of(request.path()) == Route::kChat) {
    auto chat = parse_chat_request(request.body, &budget);
    if (!chat.ok()) return api_error(chat.status());
    return backend_.chat(*std::move(chat), responder, headers, budget);
  }
  auto completion = parse_completion_request(request.body, &budget);
  if (!completion.ok()) return api_error(completion.status());
  return backend_.complete(*std::move(completion), responder, headers, budget);
}

void ApiHandler::handle(HttpRequest request, std::shared_ptr<Responder> responder) {
  HeaderList headers = common_headers(&request);
  if (const auto error = post(request, responder, headers))
    responder->respond(error_response(*error, std::move(headers)));
}

}  // namespace anemone::serve::openai
