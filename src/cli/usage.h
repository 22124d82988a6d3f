// SPDX-License-Identifier: Apache-2.0
// What is said of a command line that cannot be understood: in our words, not those of the library
// that reads it, with the word that was probably meant.
#pragma once

#include <anemone/status.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::cli {

// A word of another program, and ours for the same thing.
struct OtherName {
  std::string_view theirs;
  std::string_view ours;
};

// ": did you mean WORD?", the end of a message, with the candidate that a person who wrote `word`
// probably meant: it differs in few letters, begins like it, or is its translation in `known`.
// Empty where there is none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates,
                         std::span<const OtherName> known = {});

// The names of the commands that the help of a command lists.
std::vector<std::string> command_names(const CLI::App& app);

// The error of a command line that `app` could not read. kInvalidArgument with one line.
Status usage_error(const CLI::App& app, const CLI::ParseError& error);

// How an option is called in a message: MODEL where it has a place, else --flag.
std::string option_name(const CLI::Option& option);

// "anemone cache list": the command that the user chose, as far as it was understood.
std::string chosen_command(const CLI::App& app);

// Adds `help` and `version`, which other programs have as commands.
struct Context;
void add_help_commands(CLI::App& app, Context& context);

}  // namespace anemone::cli
