// SPDX-License-Identifier: Apache-2.0
#include "base/environment.h"

#include <cstdlib>

namespace anemone {
namespace {

// XDG Base Directory Specification.
std::optional<std::string> folder_of_user(const char* variable, const char* below_home) {
  if (auto folder = environment_variable(variable)) return folder;
  if (const auto home = environment_variable("HOME")) return *home + below_home;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> user_cache_folder() {
  return folder_of_user("XDG_CACHE_HOME", "/.cache");
}

std::optional<std::string> user_config_folder() {
  return folder_of_user("XDG_CONFIG_HOME", "/.config");
}

}  // namespace anemone
