// SPDX-License-Identifier: Apache-2.0
// `anemone completions` and `anemone man`: what shells and man(1) show of the command line, made
// from the command line itself, so that it cannot differ.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace anemone::cli {

struct Flag {
  std::string name;         // "--max-new"
  std::string short_name;   // "-n"; empty: none
  std::string description;  // in one line
  std::string value;        // "N", "VALUE"; empty: it takes none
  const CLI::Option* option;
  bool has_value() const { return !value.empty(); }
};

std::string one_line(std::string_view text);

// The flags of a command that its help shows, without those of commands in it.
std::vector<Flag> flags_of(const CLI::App& app);

// The completions of bash, zsh or fish for the command line. After a flag come the words that it
// takes (Context::words), one after the other where it takes NAME=WORD, or the names of files;
// nothing comes after one that takes a number.
std::string completions_of(const CLI::App& top, const Context& context, std::string_view shell);

}  // namespace anemone::cli
