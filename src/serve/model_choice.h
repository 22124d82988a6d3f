// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "serve/json_fields.h"

namespace anemone::serve {

// How long a model stays loaded without requests.
struct KeepAlive {
  std::optional<std::chrono::milliseconds> time;  // none: for good
};
// "keep_alive" of a request, as ollama has it: seconds, or a text like "5m"; below 0 it is for
// good. nullopt where the request does not say.
std::optional<KeepAlive> read_keep_alive(JsonFields& fields);

// What every request says of the model that it is for.
struct ModelChoice {
  std::string model;  // empty: the only one
  std::optional<KeepAlive> keep_alive;
};
// An empty name is refused.
void read_model(JsonFields& fields, ModelChoice& out);

}  // namespace anemone::serve
