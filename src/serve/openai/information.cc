// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/information.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/version.h"
#include "serve/openai/answer.h"
#include "serve/openai/openapi.h"
#include "serve/openai/response.h"

namespace anemone::serve::openai {
namespace {

// A model with its state, in the form of llama.cpp.
Json listed_model(const std::string& name, const ModelInfo& model, std::int64_t created) {
  Json out = model_json(name, created);
  out["status"] = {{"value", model_state_name(model.state)}};
  if (!model.error.empty()) out["status"]["error"] = model.error;
  // The field has two names: vLLM's and llama.cpp's.
  if (model.context > 0) {
    out["max_model_len"] = model.context;
    out["meta"] = {{"n_ctx", model.context}};
  }
  return out;
}

// The value of "model" in a query; empty where there is none.
Result<std::string> queried_model(std::string_view query) {
  constexpr std::string_view kName = "model=";
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), field.size() + 1));
    if (!field.starts_with(kName)) continue;
    std::string value(field.substr(kName.size()));
    std::ranges::replace(value, '+', ' ');
    auto name = percent_decode(value);
    if (!name)
      return invalid_argument(
          "[model] expected two hex digits after each % in the query, got \"{}\"",
          shortened(value, 100));
    return *std::move(name);
  }
  return std::string();
}

// Answers with what the backend tells of the model that the query names.
template <auto Function>
HttpResponse of_model(const Backend& backend, GetCall call) {
  const auto name = queried_model(call.query);
  auto told = name.ok() ? (backend.*Function)(*name) : Result<Json>(name.status());
  if (!told.ok()) return error_response(api_error(told.status()), std::move(call.headers));
  return json_response(*told, std::move(call.headers));
}

}  // namespace

HttpResponse get_health(const Backend* backend, GetCall call) {
  Json body;
  if (backend == nullptr) {
    body = {{"status", "loading"}};
  } else {
    const Status health = backend->check_health();
    body = {{"status", health.ok() ? "ok" : "error"},
            {"models", Json::array()},
            {"requests", backend->counts()}};
    for (const ModelInfo& model : backend->models()) {
      for (const std::string& name : model.names) body["models"].push_back(name);
      body["states"][model.names.front()] = model_state_name(model.state);
    }
    if (Json placement = backend->placement(); !placement.is_null())
      body["placement"] = std::move(placement);
    if (!health.ok()) body["error"] = health.message();
  }
  const bool is_well = body["status"] == "ok";
  HttpResponse response = json_response(body, std::move(call.headers));
  if (!is_well) response.status = 503;
  return response;
}

HttpResponse get_metrics(const Backend* backend, GetCall call) {
  call.headers.emplace_back("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return {200, std::move(call.headers), backend->metrics()};
}

HttpResponse get_version(const Backend* /*backend*/, GetCall call) {
  return json_response({{"version", version()}}, std::move(call.headers));
}

HttpResponse get_props(const Backend* backend, GetCall call) {
  return of_model<&Backend::props>(*backend, std::move(call));
}

HttpResponse get_slots(const Backend* backend, GetCall call) {
  return of_model<&Backend::slots>(*backend, std::move(call));
}

HttpResponse get_openapi(const Backend* /*backend*/, GetCall call) {
  return json_response(openapi_document(routes(), version()), std::move(call.headers));
}

HttpResponse get_models(const Backend* backend, GetCall call) {
  Json list = Json::array();
  for (const ModelInfo& model : backend->models())
    for (const std::string& name : model.names)
      list.push_back(listed_model(name, model, call.created));
  return json_response({{"object", "list"}, {"data", std::move(list)}}, std::move(call.headers));
}

HttpResponse get_model(const Backend* backend, GetCall call) {
  const auto name = percent_decode(call.parameter);
  if (!name)
    return error_response(http_error(400, "[path] expected % and two hex digits"),
                          std::move(call.headers));
  for (const ModelInfo& model : backend->models())
    if (std::ranges::find(model.names, *name) != model.names.end())
      return json_response(listed_model(*name, model, call.created), std::move(call.headers));
  return error_response(api_error(not_found("[model] expected a model of this server, got \"{}\"",
                                            shortened(*name, 200))),
                        std::move(call.headers));
}

}  // namespace anemone::serve::openai
