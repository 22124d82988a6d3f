// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/json.h"
#include "serve/http/message.h"
#include "serve/openai/error.h"

namespace anemone::serve::openai {

// Responses of status 200, of a value and of the text of one.
HttpResponse json_response(const Json& body, HeaderList headers);
HttpResponse text_response(std::string json, HeaderList headers);

// The response to a request that failed.
HttpResponse error_response(const ApiError& error, HeaderList headers);

// The headers of a stream of server-sent events.
HeaderList stream_headers(HeaderList headers);

}  // namespace anemone::serve::openai
