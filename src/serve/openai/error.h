// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>

#include "base/json.h"

namespace anemone::serve::openai {

// What a client gets instead of an answer. All four members are always there: SDKs read them.
struct ApiError {
  int status = 400;  // of HTTP
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {};  // empty: null
  std::string code = {};   // empty: null
  int retry_after_s = 1;   // in the header of a 429 or 503
};

// {"error": {"message", "type", "param", "code"}}. A very long message is shortened.
Json to_json(const ApiError& error);

// The one table from error codes to HTTP. The subject of a message, "[temperature] expected ...",
// is the field that a parsing function names, and becomes `param`. kNotFound means an unknown
// model.
ApiError api_error(const Status& status);

// An error of HTTP itself: 400, 401, 403, 404, 405, 408, 413, 415, 417, 429, 431, 500 or 503.
ApiError http_error(int status, std::string_view message);

}  // namespace anemone::serve::openai
