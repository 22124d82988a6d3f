// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "serve/openai/route.h"

namespace anemone::serve::openai {

// The routes as a document of OpenAPI 3.1. Bodies are described by the members that they need.
Json openapi_document(std::span<const Route> routes, std::string_view version);

}  // namespace anemone::serve::openai
