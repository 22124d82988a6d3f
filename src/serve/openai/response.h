// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "serve/http/message.h"
#include "serve/openai/error.h"

namespace anemone::serve::openai {

// `headers` are those that every response to the request carries; each function adds its own, such
// as the type of the content.

// Responses of status 200 that hold JSON: a value, or a text that is JSON already.
HttpResponse json_response(const Json& body, HeaderList headers);
HttpResponse json_text_response(std::string json, HeaderList headers);

// The response to a request that failed.
HttpResponse error_response(const ApiError& error, HeaderList headers);

// The headers of a response that is a stream of server-sent events.
HeaderList stream_headers(HeaderList headers);

}  // namespace anemone::serve::openai
