// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/response.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace anemone::serve::openai {

HttpResponse json_response(const Json& body, HeaderList headers) {
  return json_text_response(dump_json(body), std::move(headers));
}

HttpResponse json_text_response(std::string json, HeaderList headers) {
  headers.emplace_back("Content-Type", "application/json");
  return {200, std::move(headers), std::move(json)};
}

HttpResponse error_response(const ApiError& error, HeaderList headers) {
  headers.emplace_back("Content-Type", "application/json");
  if (error.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status == 429 || error.status == 503)
    headers.emplace_back("Retry-After", std::to_string(error.retry_after_s));
  return {error.status, std::move(headers), dump_json(to_json(error)),
          error.code.empty() ? error.type : error.code, error.param};
}

HeaderList stream_headers(HeaderList headers) {
  headers.emplace_back("Content-Type", "text/event-stream; charset=utf-8");
  headers.emplace_back("Cache-Control", "no-cache");
  headers.emplace_back("X-Accel-Buffering", "no");  // for nginx
  return headers;
}

}  // namespace anemone::serve::openai
