// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/openapi.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace anemone::serve::openai {
namespace {

// "get_models_model" of GET /models/{model}.
std::string operation_id(const Route& route, const char* method) {
  std::string out = method;
  for (const char c : route.path) {
    if (c == '{' || c == '}') continue;
    out += c == '/' || c == '.' || c == '-' ? '_' : c;
  }
  return out;
}

Json response(const char* description, const char* schema) {
  return {{"description", description},
          {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
}

Json object_schema(const Route& route) {
  // The table is part of the program, and a test reads all of it.
  Json properties = Json::parse(route.required, nullptr, /*allow_exceptions=*/false);
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  if (!route.optional.empty())
    properties.update(Json::parse(route.optional, nullptr, /*allow_exceptions=*/false));
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", true}};
}

Json operation(const Route& route, const char* method) {
  Json out = {{"operationId", operation_id(route, method)},
              {"summary", route.summary},
              {"responses",
               {{"200", {{"description", "The answer"}}},
                {"default", response("What was wrong", "#/components/schemas/Error")}}}};
  if (route.is_public) out["security"] = Json::array();
  if (const std::size_t begin = route.path.find('{'); begin != route.path.npos)
    out["parameters"] =
        Json::array({{{"name", route.path.substr(begin + 1, route.path.size() - begin - 2)},
                      {"in", "path"},
                      {"required", true},
                      {"schema", {{"type", "string"}}}}});
  if (route.takes_model)
    out["parameters"] = Json::array({{{"name", "model"},
                                      {"in", "query"},
                                      {"required", false},
                                      {"description", "Needed where there are several models"},
                                      {"schema", {{"type", "string"}}}}});
  if (route.post != nullptr)
    out["requestBody"] = {{"required", true},
                          {"content", {{"application/json", {{"schema", object_schema(route)}}}}}};
  return out;
}

Json error_schema() {
  const Json text = {{"type", "string"}};
  const Json text_or_null = {{"type", Json::array({"string", "null"})}};
  return {{"type", "object"},
          {"required", Json::array({"error"})},
          {"properties",
           {{"error",
             {{"type", "object"},
              {"required", Json::array({"message", "type", "param", "code"})},
              {"properties",
               {{"message", text},
                {"type", text},
                {"param", text_or_null},
                {"code", text_or_null}}}}}}}};
}

}  // namespace

Json openapi_document(std::span<const Route> routes, std::string_view version) {
  Json paths = Json::object();
  for (const Route& route : routes) {
    const char* method = route.post != nullptr ? "post" : "get";
    paths[std::string(route.path)][method] = operation(route, method);
  }
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "anemone"}, {"version", version}}},
          {"servers", Json::array({{{"url", "/v1"}}, {{"url", "/"}}})},
          {"security", Json::array({{{"key", Json::array()}}, Json::object()})},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", {{"Error", error_schema()}}},
            {"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace anemone::serve::openai
