// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "serve/openai/information.h"
#include "serve/openai/route.h"

namespace anemone::serve::openai {
namespace {

// What a request says of its model.
template <typename Request>
const ModelChoice& model_of(const Request& request) {
  if constexpr (requires { request.generation; })
    return request.generation;
  else
    return request;
}

// The handler of a POST: a function that parses the body, and the function of the backend that
// takes the request.
template <auto Parse, auto Function>
std::optional<ApiError> post(Backend& backend, std::string_view body, Call& call) {
  auto request = Parse(body, &call.budget);
  if (!request.ok()) return api_error(request.status());
  if (const Status status = backend.choose_model(model_of(*request), call); !status.ok())
    return api_error(status);
  if (call.awaited) return std::nullopt;
  return (backend.*Function)(*std::move(request), call);
}

std::optional<ApiError> post_unload(Backend& backend, std::string_view body, Call& call) {
  auto request = parse_model_request(body, &call.budget);
  if (!request.ok()) return api_error(request.status());
  return backend.unload(*std::move(request), call);
}

// What all requests for a model may have.
constexpr std::string_view kForModels = R"({"keep_alive": {
    "type": ["number", "string"],
    "description": "How long the model stays loaded without requests: seconds, or 5m; -1: for good"}})";

constexpr std::array kRoutes = {
    Route{.path = "/health",
          .get = get_health,
          .is_public = true,
          .answers_loading = true,
          .is_polled = true,
          .summary = "Whether the server can answer, and how much it has to do"},
    Route{.path = "/metrics",
          .get = get_metrics,
          .is_polled = true,
          .summary = "Counters and histograms in the text format of Prometheus"},
    Route{.path = "/version",
          .get = get_version,
          .answers_loading = true,
          .summary = "The version of the server"},
    Route{.path = "/openapi.json",
          .get = get_openapi,
          .answers_loading = true,
          .summary = "This description"},
    Route{.path = "/models",
          .get = get_models,
          .summary = "The models, by all their names, and whether they are loaded"},
    Route{.path = "/models/{model}", .get = get_model, .summary = "One model"},
    Route{.path = "/models/load",
          .post = post<parse_model_request, &Backend::load>,
          .summary = "Loads a model, where it is not loaded",
          .required = R"({"model": {"type": "string"}})",
          .optional = kForModels},
    Route{.path = "/models/unload",
          .post = post_unload,
          .summary = "Unloads a model once its requests have ended",
          .required = R"({"model": {"type": "string"}})"},
    Route{.path = "/chat/completions",
          .post = post<parse_chat_request, &Backend::chat>,
          .summary = "The answer to the messages of a chat",
          .required = R"({"messages": {"type": "array", "items": {"type": "object"}}})",
          .optional = kForModels},
    Route{.path = "/completions",
          .post = post<parse_completion_request, &Backend::complete>,
          .summary = "The continuation of a text, of token ids, or of several of either",
          .required = R"({"prompt": {}})",
          .optional = kForModels},
    Route{.path = "/embeddings",
          .post = post<parse_embedding_request, &Backend::embed>,
          .summary = "A vector for each text",
          .required = R"({"input": {}})",
          .optional = kForModels},
    Route{.path = "/classify",
          .post = post<parse_classify_request, &Backend::classify>,
          .summary = "The labels of the tokens of texts",
          .required = R"({"input": {}})",
          .optional = kForModels},
    Route{.path = "/completion",
          .post = post<llamacpp::parse_completion_request, &Backend::complete_native>,
          .summary = "The continuation of one text, as llama.cpp has it",
          .required = R"({"prompt": {}})",
          .optional = kForModels},
    Route{.path = "/tokenize",
          .post = post<llamacpp::parse_tokenize_request, &Backend::tokenize>,
          .summary = "The token ids of a text",
          .required = R"({"content": {"type": "string"}})",
          .optional = kForModels},
    Route{.path = "/detokenize",
          .post = post<llamacpp::parse_detokenize_request, &Backend::detokenize>,
          .summary = "The text of token ids",
          .required = R"({"tokens": {"type": "array", "items": {"type": "integer"}}})",
          .optional = kForModels},
    Route{.path = "/apply-template",
          .post = post<parse_chat_request, &Backend::apply_template>,
          .summary = "The prompt that the chat template makes of messages",
          .required = R"({"messages": {"type": "array", "items": {"type": "object"}}})",
          .optional = kForModels},
    Route{.path = "/props",
          .get = get_props,
          .summary = "The settings of the server and of a model",
          .takes_model = true},
    Route{.path = "/slots",
          .get = get_slots,
          .is_polled = true,
          .summary = "The texts that may run at a time, and which do",
          .takes_model = true},
};

constexpr std::string_view kVersion = "/v1";

std::string_view without_version(std::string_view path) {
  if (path.starts_with(kVersion) && path.substr(kVersion.size()).starts_with('/'))
    path.remove_prefix(kVersion.size());
  return path;
}

// The part of the path that stands for {name}; empty for a route without one; nullopt: it is
// another path.
std::optional<std::string_view> parameter_of(const Route& route, std::string_view path) {
  const std::size_t name = route.path.find('{');
  if (name == route.path.npos)
    return route.path == path ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view prefix = route.path.substr(0, name);
  if (!path.starts_with(prefix) || path.size() == prefix.size()) return std::nullopt;
  return path.substr(prefix.size());
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

RouteMatch find_route(std::string_view path, std::string_view method) {
  path = without_version(path);
  RouteMatch out;
  const bool is_whole = std::ranges::find(kRoutes, path, &Route::path) != kRoutes.end();
  for (const Route& route : kRoutes) {
    const auto parameter = parameter_of(route, path);
    if (!parameter || (is_whole && route.path != path)) continue;
    const bool is_post = route.post != nullptr;
    if (is_post ? method == "POST" : method == "GET" || method == "HEAD") out.route = &route;
    out.parameter = *parameter;
    out.is_public = out.is_public || route.is_public;
    out.methods += is_post ? "POST, " : "GET, HEAD, ";
  }
  if (!out.methods.empty()) out.methods += "OPTIONS";
  return out;
}

}  // namespace anemone::serve::openai
