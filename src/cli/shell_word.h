// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace anemone::cli {

// The text in single quotes, which POSIX shells, zsh and fish read as it is.
std::string shell_quoted(std::string_view text);

// One word of a command line, in quotes only if it needs them.
std::string shell_word(std::string_view text);

}  // namespace anemone::cli
