// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <cstdlib>

namespace anemone {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> user_cache_folder() {
  if (auto folder = environment_variable("XDG_CACHE_HOME")) return folder;
  if (const auto home = environment_variable("HOME")) return *home + "/.cache";
  return std::nullopt;
}

}  // namespace anemone
