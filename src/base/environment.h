// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace anemone {

// A variable of the process's environment; nullopt when it is not set or empty.
std::optional<std::string> environment_variable(const char* name);

// Where programs keep what can be made or had again: $XDG_CACHE_HOME, else ~/.cache; nullopt
// without any.
std::optional<std::string> user_cache_folder();

}  // namespace anemone
