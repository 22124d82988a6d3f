// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/error.h"

#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "serve/without_folders.h"

namespace anemone::serve::openai {
namespace {

constexpr const char* kServerError = "server_error";
constexpr const char* kRateLimitError = "rate_limit_error";
constexpr const char* kRateLimitExceeded = "rate_limit_exceeded";
// What a request holds is no reason for an answer of its size.
constexpr std::size_t kMaxShown = 1000;

// "temperature" of "[temperature] expected ..."; nothing for the request as a whole.
std::string param_of(std::string_view message) {
  if (!message.starts_with('[')) return {};
  // The name may have brackets of its own, as in "[messages[0].role] expected".
  const std::size_t end = message.find("] ");
  if (end == message.npos) return {};
  const std::string_view subject = message.substr(1, end - 1);
  return subject == "request" || subject == "body" ? std::string() : std::string(subject);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

Json to_json(const ApiError& error) {
  return {{"error",
           {{"message", shortened(error.message, kMaxShown)},
            {"type", error.type},
            {"param", text_or_null(shortened(error.param, kMaxShown))},
            {"code", text_or_null(error.code)}}}};
}

ApiError api_error(const Status& status) {
  ApiError error;
  error.message = status.message();
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kParseError:
      error.param = param_of(status.message());
      return error;
    case Code::kUnsupported:
      error.param = param_of(status.message());
      error.code = "unsupported_value";
      return error;
    case Code::kNotFound:
      error.status = 404;
      error.param = "model";
      error.code = "model_not_found";
      return error;
    case Code::kBusy:
      error.status = 429;
      error.type = kRateLimitError;
      error.code = kRateLimitExceeded;
      return error;
    case Code::kCancelled:
    case Code::kOutOfMemory:
      error.status = 503;
      error.type = kServerError;
      error.code = status.code() == Code::kCancelled ? "shutting_down" : "out_of_memory";
      return error;
    default:
      error.message = without_folders(error.message);
      error.status = 500;
      error.type = kServerError;
      error.code = std::string(code_name(status.code()));
      return error;
  }
}

ApiError http_error(int status, std::string_view message) {
  ApiError error;
  error.status = status;
  error.message = std::string(message);
  if (status >= 500) error.type = kServerError;
  switch (status) {
    case 401:
      error.type = "authentication_error";
      error.code = "invalid_api_key";
      break;
    case 403:
      error.type = "permission_error";
      error.code = "not_allowed";
      break;
    case 404:
      error.code = "unknown_url";
      break;
    case 405:
      error.code = "method_not_allowed";
      break;
    case 408:
      error.code = "request_timeout";
      break;
    case 413:
    case 431:
      error.code = "request_too_large";
      break;
    case 415:
      error.code = "unsupported_media_type";
      break;
    case 417:
      error.code = "expectation_failed";
      break;
    case 429:
      error.type = kRateLimitError;
      error.code = kRateLimitExceeded;
      break;
    case 500:
      error.code = "internal";
      break;
    case 503:
      error.code = "overloaded";
      break;
    default:
      break;
  }
  return error;
}

}  // namespace anemone::serve::openai
