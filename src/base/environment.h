// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace anemone {

// A variable of the process's environment; nullopt when it is not set or empty.
std::optional<std::string> environment_variable(const char* name);

// The folder for settings of programs: $XDG_CONFIG_HOME, else ~/.config; nullopt when neither
// XDG_CONFIG_HOME nor HOME is set.
std::optional<std::string> user_config_folder();

// The folder for data that a program can make or fetch again: $XDG_CACHE_HOME, else ~/.cache;
// nullopt when neither XDG_CACHE_HOME nor HOME is set.
std::optional<std::string> user_cache_folder();

}  // namespace anemone
